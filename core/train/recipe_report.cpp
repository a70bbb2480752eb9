// SPDX-License-Identifier: BSD-3-Clause
#include "core/train/recipe_report.h"

#include <filesystem>
#include <set>

#include <titan/error.h>

#include "core/data/read_report.h"
#include "core/dispatch/fake_run.h"
#include "core/parallel/executor.h"
#include "core/train/assemble.h"
#include "core/train/run_settings.h"

namespace titan::train {
namespace {

int64_t count_parameters(const module::ModuleTree& tree,
                         const module::Module& module) {
  int64_t count = 0;
  for (const module::Parameter* parameter : tree.parameters_of(module))
    count += parameter->num_elements();
  return count;
}

// Items and what is directly in them or in the root: a block's layers are the
// same in every block, but people look for theirs by name.
std::vector<ModuleRow> module_rows(const module::ModuleTree& tree) {
  const auto items = parallel::item_names(tree);
  const std::set<std::string> item_names(items.begin(), items.end());
  std::vector<ModuleRow> rows;
  for (const auto& module : tree.modules()) {
    if (module->fqn.empty()) continue;
    const int64_t count = count_parameters(tree, *module);
    const bool is_item = item_names.count(module->fqn) != 0;
    if (count == 0 && !is_item) continue;
    rows.push_back({module->fqn, module->class_name(), count, is_item});
  }
  return rows;
}

std::vector<StageRow> stage_rows(const module::ModuleTree& tree,
                                 const parallel::Plan& plan) {
  std::vector<StageRow> rows;
  for (const parallel::StagePlan& stage : plan.stages) {
    StageRow row;
    row.first_item = stage.items.front();
    row.last_item = stage.items.back();
    row.num_items = static_cast<int64_t>(stage.items.size());
    row.num_actions = static_cast<int64_t>(stage.actions.size());
    const std::set<std::string> mine(stage.items.begin(), stage.items.end());
    std::set<const module::Parameter*> parameters;
    for (const std::string& item : stage.items)
      for (const auto* parameter : tree.parameters_of(*tree.find_module(item)))
        parameters.insert(parameter);
    for (const auto* parameter : parameters)
      row.num_parameters += parameter->num_elements();
    for (const parallel::BucketPlan& bucket : plan.buckets)
      for (const std::string& item : bucket.items)
        if (mine.count(item) != 0) {
          ++row.num_buckets;
          break;
        }
    rows.push_back(std::move(row));
  }
  return rows;
}

// Files are there; a plugin looks into them (footers, columns).
void check_source(const SourceOptions& source, const DataOptions& options) {
  DatasetOptions dataset;
  dataset.files = expand_source_files(source, source.files);
  if (!source.opener) return;
  ReadReport report(OnBadRecord::kError);
  dataset.num_lanes = options.num_lanes;
  dataset.block_bytes = options.block_bytes;
  dataset.report = &report;
  const auto opened = source.opener->open(dataset);
  if (opened->content() == RecordContent::kMessages) source.chat_mapper();
}

// What DataStream would say before it reads: contradictions, missing files, a
// vocabulary that is too small.
void check_data(const Session& session,
                const dist::Mesh& mesh,
                int64_t vocabulary) {
  const config::Recipe& recipe = session.recipe();
  const auto tokenizer = load_tokenizer(recipe.string("data.tokenizer"));
  const DataOptions options = data_options(session, mesh, *tokenizer);
  check_options(options);
  for (const SourceOptions& source : options.sources)
    check_source(source, options);
  expand_source_files(options.sources.front(), options.validation_files);
  tokenizer->encode("", options.add_bos, false);  // UserError without BOS
  if (tokenizer->vocab_size() > vocabulary)
    throw recipe.error_at("data.tokenizer",
                          text("expected at most ",
                               vocabulary,
                               " ids (the model's vocabulary), got ",
                               tokenizer->vocab_size()));
}

void add_memory(RecipeReport& report, Session& session) {
  try {
    report.memory = estimate_memory(session, report.mesh);
  } catch (const dispatch::NoFakeResult& error) {
    report.memory_note = error.what();
  }
}

double read_base_lr(const config::Recipe& recipe) {
  const config::Value* lr = recipe.value("optimizer.config").find("lr");
  return lr != nullptr && lr->is_number() ? lr->as_number() : 0.0;
}

}  // namespace

RecipeReport report_recipe(Session& session, int64_t world) {
  const config::Recipe& recipe = session.recipe();
  const RunSettings settings = read_run_settings(recipe);
  RecipeReport report;
  report.name = settings.name;
  report.num_steps = settings.num_steps;
  report.flavor = recipe.optional_string("model.flavor").value_or("");
  report.precision = recipe.string("precision.use");
  report.optimizer = recipe.string("optimizer.use");
  report.base_lr = read_base_lr(recipe);
  report.recompute = recipe.string("recompute.mode");
  recipe.integer("training.threads");  // the trainer's to use
  report.mesh = mesh_shape(recipe, world);

  const auto model = make_model(session);
  const module::ModuleTree& tree = model->tree();
  report.model = model->id();
  report.num_parameters = tree.num_parameters();
  report.vocabulary = model_vocab(*model);
  report.modules = module_rows(tree);
  const parallel::Plan plan = make_plan(session, *model, report.mesh);
  report.plan_json = plan.json;
  report.stages = stage_rows(tree, plan);

  report.seq_len = recipe.integer("training.seq_len");
  report.tokens_per_microbatch = tokens_per_microbatch(recipe);
  report.microbatches =
      microbatches_per_step(recipe, report.mesh.data_parallel());
  report.tokens_per_step = report.tokens_per_microbatch * report.microbatches *
                           report.mesh.data_parallel();
  report.flops_per_token = model->flops_per_token(report.seq_len);
  report.schedule = schedule_of(recipe, report.warnings);

  const dist::Mesh mesh =
      dist::fake_mesh({{"pp", report.mesh.pp},
                       {"dp_replicate", report.mesh.dp_replicate},
                       {"dp_shard", report.mesh.dp_shard},
                       {"cp", report.mesh.cp},
                       {"tp", report.mesh.tp}});
  check_data(session, mesh, report.vocabulary);
  add_memory(report, session);
  recipe.require_all_used();
  return report;
}

}  // namespace titan::train
