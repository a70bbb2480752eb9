// SPDX-License-Identifier: BSD-3-Clause
// `titan validate`: everything that a recipe comes to, before any work.
#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>

#include <nlohmann/json.hpp>

#include <titan/text.h>

#include "core/cli/commands.h"
#include "core/cli/session_options.h"
#include "core/observe/machine.h"
#include "core/train/assemble.h"
#include "core/train/recipe_report.h"

namespace titan::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;
using train::ModuleRow;
using train::RecipeReport;

struct ValidateOptions {
  std::string recipe;
  train::SessionOptions session;
  int64_t world = 0;
  bool is_json = false;
};

OrderedJson schedule_json(const RecipeReport& report) {
  constexpr const char* kDecays[] = {"none", "linear", "sqrt", "cosine"};
  const train::Schedule& schedule = report.schedule;
  return {
      {"steps", schedule.total_steps},
      {"warmup_steps", schedule.warmup_steps},
      {"decay_steps", schedule.decay_steps},
      {"decay", kDecays[static_cast<int>(schedule.decay)]},
      {"lr_first", report.base_lr * schedule.factor(0)},
      {"lr_base", report.base_lr},
      {"lr_last", report.base_lr * schedule.factor(schedule.total_steps - 1)}};
}

OrderedJson memory_json(const RecipeReport& report) {
  if (!report.memory_note.empty()) return {{"none", report.memory_note}};
  return {{"parameters", report.memory.parameters},
          {"gradients", report.memory.gradients},
          {"optimizer", report.memory.optimizer},
          {"activations", report.memory.activations},
          {"total", report.memory.total()}};
}

OrderedJson to_json(const RecipeReport& report) {
  const parallel::MeshShape& mesh = report.mesh;
  OrderedJson out = {{"name", report.name},
                     {"model", report.model},
                     {"flavor", report.flavor},
                     {"parameters", report.num_parameters},
                     {"vocabulary", report.vocabulary},
                     {"precision", report.precision},
                     {"optimizer", report.optimizer},
                     {"mesh",
                      {{"world", mesh.world()},
                       {"pp", mesh.pp},
                       {"dp_replicate", mesh.dp_replicate},
                       {"dp_shard", mesh.dp_shard},
                       {"cp", mesh.cp},
                       {"tp", mesh.tp},
                       {"ep", mesh.ep}}},
                     {"recompute", report.recompute},
                     {"memory_bytes", memory_json(report)},
                     {"flops_per_token", report.flops_per_token},
                     {"seq_len", report.seq_len},
                     {"tokens_per_microbatch", report.tokens_per_microbatch},
                     {"microbatches", report.microbatches},
                     {"tokens_per_step", report.tokens_per_step},
                     {"schedule", schedule_json(report)},
                     {"warnings", report.warnings},
                     {"modules", OrderedJson::array()},
                     {"stages", OrderedJson::array()}};
  for (const ModuleRow& row : report.modules)
    out["modules"].push_back({{"name", row.fqn},
                              {"class", row.class_name},
                              {"parameters", row.num_parameters}});
  for (const train::StageRow& row : report.stages)
    out["stages"].push_back({{"first_item", row.first_item},
                             {"last_item", row.last_item},
                             {"items", row.num_items},
                             {"parameters", row.num_parameters},
                             {"buckets", row.num_buckets},
                             {"actions", row.num_actions}});
  return out;
}

// 8030261248 -> "8,030,261,248"
std::string grouped(int64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<int64_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<size_t>(at), 1, ',');
  return digits;
}

void print_row(const char* name, const std::string& value) {
  std::printf("%-18s %s\n", name, value.c_str());
}

void print_items(const std::string& first,
                 const ModuleRow& last,
                 int64_t count) {
  const std::string name =
      count == 1 ? first : text(first, " .. ", last.fqn, " (", count, ")");
  std::printf("  %-36s %-24s %s%s\n",
              name.c_str(),
              last.class_name.c_str(),
              grouped(last.num_parameters).c_str(),
              count > 1 ? " each" : "");
}

// Blocks of equal class and size are one line.
void print_modules(const std::vector<ModuleRow>& rows) {
  const ModuleRow* last = nullptr;
  std::string first;
  int64_t count = 0;
  for (const ModuleRow& row : rows) {
    if (!row.is_item) continue;
    if (last != nullptr && row.class_name == last->class_name &&
        row.num_parameters == last->num_parameters) {
      ++count;
    } else {
      if (last != nullptr) print_items(first, *last, count);
      first = row.fqn;
      count = 1;
    }
    last = &row;
  }
  if (last != nullptr) print_items(first, *last, count);
}

void print_stages(const RecipeReport& report) {
  const parallel::MeshShape& mesh = report.mesh;
  print_row("ranks",
            text(mesh.world(),
                 " = pp ",
                 mesh.pp,
                 " x dp_replicate ",
                 mesh.dp_replicate,
                 " x dp_shard ",
                 mesh.dp_shard,
                 " x cp ",
                 mesh.cp,
                 " x tp ",
                 mesh.tp,
                 "; recompute ",
                 report.recompute));
  for (size_t i = 0; i < report.stages.size(); ++i) {
    const train::StageRow& row = report.stages[i];
    std::printf(
        "  stage %-3zu %s .. %s: %lld items, %s parameters, %lld "
        "buckets, %lld actions\n",
        i,
        row.first_item.c_str(),
        row.last_item.c_str(),
        static_cast<long long>(row.num_items),
        grouped(row.num_parameters).c_str(),
        static_cast<long long>(row.num_buckets),
        static_cast<long long>(row.num_actions));
  }
}

void print_text(const RecipeReport& report) {
  print_row("recipe", report.name);
  print_row("model",
            text(report.model,
                 report.flavor.empty() ? "" : text(" ", report.flavor)));
  print_row("parameters", grouped(report.num_parameters));
  print_modules(report.modules);
  print_stages(report);
  print_row("precision", report.precision);
  print_row("optimizer", report.optimizer);
  print_row("batch",
            text(grouped(report.tokens_per_step),
                 " tokens per step = ",
                 report.microbatches,
                 " microbatches of ",
                 grouped(report.tokens_per_microbatch),
                 " tokens (",
                 report.tokens_per_microbatch / report.seq_len,
                 " x ",
                 report.seq_len,
                 ") x ",
                 report.mesh.data_parallel(),
                 " data ranks"));
  const OrderedJson schedule = schedule_json(report);
  print_row("schedule",
            text(report.num_steps,
                 " steps, warmup ",
                 report.schedule.warmup_steps,
                 ", decay ",
                 schedule.at("decay").get<std::string>(),
                 " over ",
                 report.schedule.decay_steps,
                 "; lr ",
                 report.base_lr,
                 ", last ",
                 schedule.at("lr_last").get<double>()));
  print_row("FLOPs", text(report.flops_per_token, " per token"));
  print_row("memory",
            report.memory_note.empty()
                ? train::describe(report.memory, read_memory_facts())
                : text("no estimate: ", report.memory_note));
  for (const std::string& warning : report.warnings)
    print_row("warning", warning);
  std::cout << std::flush;
}

void run_validate(const ValidateOptions& options) {
  train::Session session(options.recipe, options.session);
  const int64_t world =
      options.world > 0 ? options.world : train::world_of(session.recipe());
  const RecipeReport report = train::report_recipe(session, world);
  if (options.is_json) {
    std::cout << to_json(report).dump() << '\n';
  } else {
    print_text(report);
  }
}

}  // namespace

void add_validate_command(Command& app, int& exit_code) {
  auto options = std::make_shared<ValidateOptions>();
  Command* command = app.add_subcommand(
      "validate", "Check a recipe and say what it comes to, without training");
  command->footer(
      "Example: titan validate configs/llama3_debug_tinyshakespeare.yaml "
      "--set model.flavor=405B --world 512");
  command->add_option("RECIPE", options->recipe, "YAML file")->required();
  command
      ->add_option("--world",
                   options->world,
                   "number of ranks; default: as many as the recipe needs")
      ->positive();
  add_session_options(*command, options->session);
  command->add_flag("--json", options->is_json, "one JSON object on stdout");
  command->callback([options, &exit_code] {
    run_validate(*options);
    exit_code = 0;
  });
}

}  // namespace titan::cli
