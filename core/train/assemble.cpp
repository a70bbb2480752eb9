// SPDX-License-Identifier: BSD-3-Clause
#include "core/train/assemble.h"

#include <algorithm>
#include <limits>
#include <optional>

#include <titan/error.h>

#include "core/observe/log.h"
#include "core/parallel/planner.h"
#include "core/train/adapter.h"
#include "core/train/chat_section.h"
#include "core/train/data_section.h"
#include "core/train/host_table.h"

namespace titan::train {
namespace {

using config::Recipe;

std::vector<GroupRule> group_rules(const Recipe& recipe) {
  std::vector<GroupRule> rules;
  for (const config::Value& entry : recipe.list("optimizer.groups")) {
    GroupRule rule;
    const config::Value& match = *entry.find("match");
    if (match.is_string()) {
      rule.match.push_back(match.as_string());
    } else {
      for (const config::Value& pattern : match.as_list())
        rule.match.push_back(pattern.as_string());
    }
    rule.lr_multiplier = entry.find("lr_multiplier")->as_number();
    const config::Value& decay = *entry.find("weight_decay");
    rule.weight_decay = decay.is_null()
                            ? std::numeric_limits<double>::quiet_NaN()
                            : decay.as_number();
    rule.is_frozen = entry.find("frozen")->as_boolean();
    if (rule.is_frozen && (rule.lr_multiplier != 1 || !decay.is_null()))
      throw recipe.error_at(
          text("optimizer.groups[", rules.size(), "].frozen"),
          "what is frozen has no update: expected no lr_multiplier and no "
          "weight_decay beside it, got one");
    rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace

int64_t tokens_per_microbatch(const Recipe& recipe) {
  return recipe.optional_integer("training.tokens_per_microbatch")
      .value_or(recipe.integer("training.seq_len"));
}

DataOptions data_options(const Session& session,
                         const dist::Mesh& mesh,
                         const Tokenizer& tokenizer) {
  const Recipe& recipe = session.recipe();
  DataOptions options = read_data_section(recipe, session.host().plugins);
  // The default tokenizer, bytes, has none; who asks for one gets an error.
  const config::Value& add_eos = recipe.value("data.add_eos");
  options.add_eos =
      add_eos.is_null() ? tokenizer.eos_id().has_value() : add_eos.as_boolean();
  options.seq_len = recipe.integer("training.seq_len");
  options.tokens_per_microbatch = tokens_per_microbatch(recipe);
  options.seed = static_cast<uint64_t>(recipe.integer("training.seed"));
  options.dp_rank = static_cast<int>(mesh.coordinate("dp"));
  options.dp_world = static_cast<int>(mesh.size("dp"));
  options.tokens_per_step = microbatches_per_step(recipe, mesh.size("dp")) *
                            options.tokens_per_microbatch * mesh.size("dp");
  apply_chat_section(recipe, tokenizer, options);
  return options;
}

Schedule schedule_of(const Recipe& recipe, std::vector<std::string>& warnings) {
  ScheduleOptions options;
  options.total_steps = recipe.integer("training.steps");
  options.warmup_steps = recipe.integer("schedule.warmup_steps");
  options.decay_steps =
      recipe.optional_integer("schedule.decay_steps").value_or(-1);
  options.decay_ratio =
      recipe.optional_number("schedule.decay_ratio").value_or(-1.0);
  options.decay = recipe.string("schedule.decay");
  options.min_factor = recipe.number("schedule.min_factor");
  return make_schedule(options, warnings);
}

int64_t model_vocab(const module::Model& model) {
  const module::Output& output = model.tree().output();
  TITAN_USER_CHECK(output.head != nullptr,
                   "[model.use] ",
                   model.id(),
                   ": expected a language model "
                   "(its output a head over a vocabulary), got one without");
  return output.head->parameters.front()->shape.front();
}

namespace {

void add_data(Training& training, const Session& session) {
  DataOptions options =
      data_options(session, training.mesh, *training.tokenizer);
  options.vocab_size = model_vocab(*training.model);
  training.data = std::make_unique<DataStream>(options, *training.tokenizer);
  if (options.validation_fraction == 0 && options.validation_files.empty())
    return;
  options.split = Split::kValidation;
  training.validation =
      std::make_unique<DataStream>(options, *training.tokenizer);
}

StepOptions step_options(const Recipe& recipe, const dist::Mesh& mesh) {
  StepOptions options;
  options.microbatches = microbatches_per_step(recipe, mesh.size("dp"));
  options.seq_len = recipe.integer("training.seq_len");
  options.max_grad_norm = recipe.number("training.max_grad_norm");
  options.skips_non_finite = recipe.string("training.non_finite") == "skip";
  options.zero_target_steps_limit =
      recipe.integer("training.zero_target_steps_limit");
  return options;
}

}  // namespace

namespace {

// Only read where there are averages: set all the same, the keys are refused.
std::optional<EmaOptions> ema_options(const Recipe& recipe) {
  const auto decay = recipe.optional_number("ema.decay");
  if (!decay) return std::nullopt;
  EmaOptions options;
  options.decay = *decay;
  options.start = recipe.integer("ema.start");
  options.every = recipe.integer("ema.every");
  return options;
}

}  // namespace

int64_t world_of(const Recipe& recipe) {
  int64_t world = 1;
  for (const char* axis : {"pp", "dp_replicate", "dp_shard", "cp", "tp"}) {
    const int64_t degree = recipe.integer(text("parallel.", axis));
    world *= degree > 0 ? degree : 1;
  }
  return world;
}

parallel::MeshShape mesh_shape(const Recipe& recipe, int64_t world) {
  parallel::MeshShape shape;
  shape.pp = recipe.integer("parallel.pp");
  shape.dp_replicate = recipe.integer("parallel.dp_replicate");
  shape.dp_shard = recipe.integer("parallel.dp_shard");
  shape.cp = recipe.integer("parallel.cp");
  shape.tp = recipe.integer("parallel.tp");
  shape.ep = recipe.integer("parallel.ep");
  for (const auto& [axis, degree] :
       {std::pair{"cp", shape.cp}, std::pair{"ep", shape.ep}})
    if (degree > 1)
      throw recipe.error_at(text("parallel.", axis),
                            text("expected 1 (this axis is not executed yet), "
                                 "got ",
                                 degree));
  if (shape.dp_shard < 0) {
    const int64_t others = shape.pp * shape.dp_replicate * shape.cp * shape.tp;
    shape.dp_shard = world % others == 0 ? world / others : 1;
  }
  if (shape.world() != world)
    throw recipe.error_at("parallel",
                          text("pp ",
                               shape.pp,
                               " x dp_replicate ",
                               shape.dp_replicate,
                               " x dp_shard ",
                               shape.dp_shard,
                               " x cp ",
                               shape.cp,
                               " x tp ",
                               shape.tp,
                               " ranks: expected their product to be the ",
                               world,
                               " ranks of this run, got ",
                               shape.world()));
  return shape;
}

int64_t microbatches_per_step(const Recipe& recipe, int64_t data_parallel) {
  const int64_t unit = tokens_per_microbatch(recipe) * data_parallel;
  const int64_t tokens =
      recipe.optional_integer("training.tokens_per_step").value_or(unit);
  if (tokens % unit != 0)
    throw recipe.error_at("training.tokens_per_step",
                          text("expected a multiple of tokens_per_microbatch ",
                               tokens_per_microbatch(recipe),
                               " x data-parallel degree ",
                               data_parallel,
                               " = ",
                               unit,
                               ", got ",
                               tokens));
  return tokens / unit;
}

std::unique_ptr<module::Model> make_model(Session& session) {
  const Recipe& recipe = session.recipe();
  const plugin::Component& component =
      session.host().plugins.find("titan.model/1", recipe.string("model.use"));
  // The flavor is merged into config already; reading it marks it.
  recipe.optional_string("model.flavor");
  auto model =
      std::make_unique<module::Model>(component.as<titan_model_table>(),
                                      component.owner->host,
                                      component.owner,
                                      component.id,
                                      recipe.value("model.config"),
                                      session.make_selector());
  // Its model may refuse a length, having a table of positions that ends.
  model->flops_per_token(recipe.integer("training.seq_len"));
  if (recipe.optional_string("adapter.use")) {
    recipe.value("adapter.config");  // the transform reports what it leaves
    apply_adapter(session.host(), recipe.root(), *model);
  }
  return model;
}

parallel::Plan make_plan(Session& session,
                         const module::Model& model,
                         const parallel::MeshShape& shape,
                         int64_t microbatches_limit) {
  const Recipe& recipe = session.recipe();
  parallel::PlanOptions options;
  options.shape = shape;
  options.microbatches = std::min(
      microbatches_per_step(recipe, shape.data_parallel()), microbatches_limit);
  // What would do nothing is not read: set all the same, it is refused as
  // unused.
  options.recompute_mode = recipe.string("recompute.mode");
  options.recompute_save_ops = recipe.strings("recompute.save_ops");
  if (options.recompute_mode != "none")
    options.recompute_match = recipe.optional_string("recompute.match");
  if (shape.pp > 1) {
    options.schedule = recipe.string("parallel.schedule");
    options.pipeline_input_weight =
        recipe.integer("parallel.pipeline_input_weight");
    options.pipeline_output_weight =
        recipe.integer("parallel.pipeline_output_weight");
  }
  if (shape.dp_shard > 1)
    options.reshard_after_forward =
        recipe.string("parallel.reshard_after_forward");
  const auto planners = recipe.strings("parallel.planners");
  return parallel::make_plan(
      model.tree(), options, planners, session.host().plugins);
}

void assemble_model(Training& training,
                    Session& session,
                    int64_t microbatches_limit) {
  const Recipe& recipe = session.recipe();
  const dist::Mesh& mesh = training.mesh;
  training.model = make_model(session);
  const std::vector<GroupRule> rules = group_rules(recipe);
  apply_frozen(training.model->tree(), rules);
  training.model->tree().selector()->check_all_used();

  training.plan = make_plan(session,
                            *training.model,
                            mesh_shape(recipe, mesh.world()),
                            microbatches_limit);
  const auto stage = static_cast<size_t>(mesh.coordinate("pp"));
  training.engine = std::make_unique<parallel::ParameterEngine>(
      training.model->tree(),
      training.plan,
      training.plan.stages[stage].items,
      mesh,
      parallel::precision_of(recipe.string("precision.use")));
  training.executor = std::make_unique<parallel::Executor>(
      training.model->tree(), training.plan, *training.engine, mesh);

  const plugin::Component& component = session.host().plugins.find(
      "titan.optimizer/1", recipe.string("optimizer.use"));
  training.optimizer =
      std::make_unique<Optimizer>(component.as<titan_optimizer_table>(),
                                  component.owner->host,
                                  component.owner,
                                  component.id,
                                  recipe.value("optimizer.config"),
                                  rules,
                                  *training.engine);
  if (const auto ema = ema_options(recipe))
    training.ema = std::make_unique<Ema>(*training.engine, *ema);
  training.options = step_options(recipe, mesh);
}

std::unique_ptr<Training> assemble(Session& session,
                                   dist::Mesh& mesh,
                                   std::shared_ptr<const Tokenizer> tokenizer,
                                   DataUse data_use) {
  const Recipe& recipe = session.recipe();
  auto training = std::make_unique<Training>(mesh);
  training->tokenizer = std::move(tokenizer);
  assemble_model(*training, session, kAllMicrobatches);
  std::vector<std::string> warnings;
  training->schedule = schedule_of(recipe, warnings);
  for (const std::string& warning : warnings) log::warn(warning);
  if (data_use == DataUse::kOpen) add_data(*training, session);
  return training;
}

}  // namespace titan::train
