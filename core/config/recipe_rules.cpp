// SPDX-License-Identifier: BSD-3-Clause
#include "core/config/recipe_rules.h"

#include <limits>

#include <titan/error.h>

namespace titan::config {
namespace {

std::int64_t integer_or(const Value& root,
                        std::string_view path,
                        std::int64_t otherwise) {
  const Value* value = root.at_path(path);
  return value != nullptr && value->is_integer() ? value->as_integer()
                                                 : otherwise;
}

double number_or(const Value& root, std::string_view path, double otherwise) {
  const Value* value = root.at_path(path);
  return value != nullptr && value->is_number() ? value->as_number()
                                                : otherwise;
}

bool is_set(const Value& root, std::string_view path) {
  const Value* value = root.at_path(path);
  return value != nullptr && !value->is_null();
}

// Degree 0: not known yet, so only what holds for every degree is checked.
std::vector<Problem> check_batch(const Value& root, std::int64_t degree) {
  std::vector<Problem> out;
  const std::int64_t seq_len = integer_or(root, "training.seq_len", 1);
  const std::int64_t microbatch =
      integer_or(root, "training.tokens_per_microbatch", seq_len);
  if (microbatch % seq_len != 0)
    out.push_back({{},
                   "training.tokens_per_microbatch",
                   text("tokens_per_microbatch (",
                        microbatch,
                        ") must be a multiple of seq_len (",
                        seq_len,
                        ')')});
  if (!is_set(root, "training.tokens_per_step")) return out;
  const std::int64_t step = integer_or(root, "training.tokens_per_step", 0);
  const bool is_known = degree > 0;
  const std::int64_t ranks = is_known ? degree : 1;
  const bool overflows =
      microbatch > std::numeric_limits<std::int64_t>::max() / ranks;
  if (overflows || step % (microbatch * ranks) != 0)
    out.push_back(
        {{},
         "training.tokens_per_step",
         text("tokens_per_step (",
              step,
              ") must be a multiple of tokens_per_microbatch (",
              microbatch,
              is_known ? text(") x data-parallel degree (", ranks, ')') : ")",
              is_known && !overflows ? text(" = ", microbatch * ranks) : "")});
  return out;
}

// dp_replicate x dp_shard, or 0 while -1 stands for the ranks that are left.
std::int64_t known_degree(const Value& root) {
  const std::int64_t shard = integer_or(root, "parallel.dp_shard", -1);
  const std::int64_t replicate = integer_or(root, "parallel.dp_replicate", 1);
  if (shard < 1 || shard > std::numeric_limits<std::int32_t>::max() ||
      replicate > std::numeric_limits<std::int32_t>::max())
    return 0;
  return shard * replicate;
}

std::vector<Problem> check_sequence(const Value& root) {
  const std::int64_t seq_len = integer_or(root, "training.seq_len", 1);
  const std::int64_t cp = integer_or(root, "parallel.cp", 1);
  if (seq_len % cp == 0) return {};
  return {{{},
           "parallel.cp",
           text("cp (", cp, ") must divide training.seq_len (", seq_len, ')')}};
}

std::vector<Problem> check_schedule(const Value& root) {
  std::vector<Problem> out;
  const std::int64_t steps = integer_or(root, "training.steps", 1);
  const std::int64_t warmup = integer_or(root, "schedule.warmup_steps", 0);
  if (warmup > steps)
    out.push_back({{},
                   "schedule.warmup_steps",
                   text("warm-up is longer than the run: expected at most "
                        "training.steps (",
                        steps,
                        "), got ",
                        warmup)});
  if (is_set(root, "schedule.decay_steps") &&
      is_set(root, "schedule.decay_ratio")) {
    out.push_back({{},
                   "schedule.decay_ratio",
                   "decay is given twice: expected decay_steps or decay_ratio, "
                   "got both"});
    return out;
  }
  const double decay = is_set(root, "schedule.decay_ratio")
                           ? number_or(root, "schedule.decay_ratio", 0) *
                                 static_cast<double>(steps)
                           : number_or(root, "schedule.decay_steps", 0);
  if (warmup <= steps &&
      static_cast<double>(warmup) + decay > static_cast<double>(steps) + 0.5)
    out.push_back(
        {{},
         is_set(root, "schedule.decay_ratio") ? "schedule.decay_ratio"
                                              : "schedule.decay_steps",
         text("warm-up and decay are longer than the run: expected at most "
              "training.steps (",
              steps,
              ") together, got ",
              warmup,
              " + ",
              decay)});
  return out;
}

std::vector<Problem> check_data(const Value& root) {
  const auto has_entries = [&](std::string_view path) {
    const Value* list = root.at_path(path);
    return list != nullptr && list->is_list() && !list->as_list().empty();
  };
  const bool has_files = has_entries("data.files");
  const bool has_sources = has_entries("data.sources");
  if (has_files != has_sources) return {};
  // A plugin's dataset (its id has an owner) may need no files; it says so.
  const Value* use = root.at_path("data.use");
  if (!has_files && use != nullptr && use->is_string() &&
      use->as_string().find('.') != std::string::npos)
    return {};
  return {{{},
           "data.files",
           text("data is not named once: expected files or sources, got ",
                has_files ? "both" : "neither")}};
}

bool is_text(const Value* value, std::string_view wanted) {
  return value != nullptr && value->is_string() && value->as_string() == wanted;
}

// A conversation that is cut by the end of a row would go on without its
// prompt.
std::vector<Problem> check_chat(const Value& root) {
  bool has_chat = is_text(root.at_path("data.use"), "chat");
  const Value* sources = root.at_path("data.sources");
  if (sources != nullptr && sources->is_list())
    for (const Value& source : sources->as_list())
      has_chat |= source.is_map() && is_text(source.find("use"), "chat");
  if (!has_chat || !is_text(root.at_path("data.packing"), "sequential"))
    return {};
  return {{{},
           "data.packing",
           "conversations stay whole: expected best_fit or none, got "
           "sequential"}};
}

std::vector<Problem> check_validation(const Value& root) {
  const Value* files = root.at_path("data.validation_files");
  const bool has_files =
      files != nullptr && files->is_list() && !files->as_list().empty();
  const bool has_fraction = number_or(root, "data.validation_fraction", 0) > 0;
  const Value* at_end = root.at_path("validation.at_end");
  const bool is_wanted =
      is_set(root, "validation.interval") ||
      (at_end != nullptr && at_end->is_boolean() && at_end->as_boolean());
  if (has_files && has_fraction)
    return {{{},
             "data.validation_fraction",
             "validation split is given twice: expected validation_files or "
             "validation_fraction, got both"}};
  if (is_wanted && !has_files && !has_fraction)
    return {{{},
             "validation",
             "there is nothing to validate on: expected "
             "data.validation_files or data.validation_fraction, got neither"}};
  return {};
}

std::vector<Problem> check_plugin_entries(const Value& root) {
  std::vector<Problem> out;
  const Value* load = root.at_path("plugins.load");
  if (load == nullptr || !load->is_list()) return out;
  for (std::size_t i = 0; i < load->as_list().size(); ++i) {
    const Value& entry = load->as_list()[i];
    if (is_set(entry, "path") == is_set(entry, "name"))
      out.push_back({{},
                     text("plugins.load[", i, ']'),
                     text("plugin is not named once: expected path or name, "
                          "got ",
                          is_set(entry, "path") ? "both" : "neither")});
  }
  return out;
}

std::vector<Problem> check_name(const Value& root) {
  const Value* name = root.find("name");
  if (name == nullptr || !name->is_string()) return {};
  const std::string& text_of = name->as_string();
  if (!text_of.empty() && text_of.find('/') == std::string::npos &&
      text_of != "." && text_of != "..")
    return {};
  return {{{},
           "name",
           text("name cannot name a folder: expected text without '/', got ",
                quote(text_of)),
           code::kRange}};
}

}  // namespace

BatchSizes resolve_batch_sizes(const Recipe& recipe,
                               std::int64_t data_parallel_degree) {
  TITAN_CHECK(data_parallel_degree > 0, "[config] degree must be positive");
  for (Problem& problem : check_batch(recipe.root(), data_parallel_degree))
    throw recipe.error_at(problem.path, problem.what);
  const std::int64_t microbatch =
      recipe.optional_integer("training.tokens_per_microbatch")
          .value_or(recipe.integer("training.seq_len"));
  const std::int64_t one = microbatch * data_parallel_degree;
  const std::int64_t step =
      recipe.optional_integer("training.tokens_per_step").value_or(one);
  return {microbatch, step, step / one};
}

void add_core_rules(SchemaRegistry& registry) {
  registry.add_rule(
      [](const Value& root) { return check_batch(root, known_degree(root)); });
  registry.add_rule(check_sequence);
  registry.add_rule(check_schedule);
  registry.add_rule(check_data);
  registry.add_rule(check_chat);
  registry.add_rule(check_validation);
  registry.add_rule(check_plugin_entries);
  registry.add_rule(check_name);
}

}  // namespace titan::config
