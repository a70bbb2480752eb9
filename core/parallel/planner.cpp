// SPDX-License-Identifier: BSD-3-Clause
// Planners see JSON and answer JSON; what they may write is decided by their
// phase, whatever order the recipe lists them in.
#include "core/parallel/planner.h"

#include <algorithm>
#include <array>
#include <map>

#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/config/component_config.h"
#include "core/parallel/plan_json.h"
#include "core/parallel/stage_items.h"
#include "core/parallel/validate.h"
#include "core/plugin/abi_call.h"

namespace titan::parallel {
namespace {

using Json = nlohmann::json;
using module::ModuleTree;

constexpr const char* kPlannerKind = "titan.parallel/1";

// In the order they run; each owns the key of its name.
constexpr std::array<std::string_view, 6> kPhases =
    {"expert", "tensor", "context", "recompute", "pipeline", "data"};

const char* shard_word(module::ShardHint hint) {
  switch (hint) {
    case module::ShardHint::kColumn:
      return "column";
    case module::ShardHint::kRow:
      return "row";
    case module::ShardHint::kVocab:
      return "vocab";
    case module::ShardHint::kExpert:
      return "expert";
    case module::ShardHint::kReplicate:
      break;
  }
  return "replicate";
}

Json items_request(const ModuleTree& tree) {
  const module::Module* head = tree.output().head;
  const auto towers = tower_item_names(tree);
  Json items = Json::array();
  for (const std::string& name : item_names(tree)) {
    const module::Module* module = tree.find_module(name);
    Json parameters = Json::array();
    for (const module::Parameter* parameter : tree.parameters_of(*module))
      parameters.push_back(parameter->fqn);
    items.push_back(
        {{"fqn", name},
         {"parameters", std::move(parameters)},
         {"is_output", module == head},
         {"is_tower",
          std::find(towers.begin(), towers.end(), name) != towers.end()}});
  }
  return items;
}

Json modules_request(const ModuleTree& tree) {
  Json modules = Json::array();
  for (const auto& module : tree.modules())
    modules.push_back(
        {{"fqn", module->fqn},
         {"class", module->class_name()},
         {"parent", module->parent == nullptr ? "" : module->parent->fqn},
         {"is_leaf", module->is_leaf()}});
  return modules;
}

Json parameters_request(const ModuleTree& tree) {
  Json parameters = Json::array();
  for (const auto& parameter : tree.parameters()) {
    // Of a tied one more than its owner's.
    Json users = Json::array();
    for (const auto& module : tree.modules())
      if (std::find(module->parameters.begin(),
                    module->parameters.end(),
                    parameter.get()) != module->parameters.end())
        users.push_back(module->fqn);
    parameters.push_back({{"fqn", parameter->fqn},
                          {"shape", parameter->shape},
                          {"shard", shard_word(parameter->shard)},
                          {"granule", parameter->shard_granule},
                          {"module", parameter->owner->fqn},
                          {"users", std::move(users)}});
  }
  return parameters;
}

Json recompute_request(const PlanOptions& options) {
  Json recompute = {{"mode", options.recompute_mode},
                    {"save_ops", options.recompute_save_ops}};
  if (options.recompute_match) recompute["match"] = *options.recompute_match;
  return recompute;
}

Json request_json(const ModuleTree& tree, const PlanOptions& options) {
  const module::Module* head = tree.output().head;
  return {{"mesh", Json::parse(mesh_to_json(options.shape))},
          {"model",
           {{"items", items_request(tree)},
            {"modules", modules_request(tree)},
            {"parameters", parameters_request(tree)},
            {"output", {{"head", head == nullptr ? "" : head->fqn}}}}},
          {"training", {{"microbatches", options.microbatches}}},
          {"options",
           {{"schedule", options.schedule},
            {"reshard_after_forward", options.reshard_after_forward},
            {"pipeline_input_weight", options.pipeline_input_weight},
            {"pipeline_output_weight", options.pipeline_output_weight},
            {"recompute", recompute_request(options)}}}};
}

std::vector<std::string> built_in_choice(const PlanOptions& options) {
  std::vector<std::string> ids;
  if (options.shape.tp > 1) ids.emplace_back("titan.tensor");
  if (options.recompute_mode != "none") ids.emplace_back("titan.recompute");
  if (options.shape.pp > 1) ids.emplace_back("titan.pipeline");
  if (options.shape.data_parallel() > 1) ids.emplace_back("titan.fsdp");
  return ids;
}

size_t phase_index(const plugin::Component& component) {
  const auto phase = plugin::view(component.as<titan_parallel_table>().phase);
  const auto found = std::find(kPhases.begin(), kPhases.end(), phase);
  TITAN_USER_CHECK(found != kPhases.end(),
                   "[plugin ",
                   component.id,
                   "] phase: expected one of ",
                   kPhases,
                   ", got '",
                   phase,
                   "'");
  TITAN_USER_CHECK(*found != "expert" && *found != "context",
                   "[parallel.planners] ",
                   component.id,
                   ": expected a phase that is executed (tensor, recompute, "
                   "pipeline, data), got ",
                   *found);
  return static_cast<size_t>(found - kPhases.begin());
}

std::map<size_t, const plugin::Component*> planners_by_phase(
    const std::vector<std::string>& ids,
    const plugin::PluginRegistry& plugins) {
  std::map<size_t, const plugin::Component*> by_phase;
  for (const std::string& id : ids) {
    const plugin::Component& component = plugins.find(kPlannerKind, id);
    const auto [found, is_new] =
        by_phase.emplace(phase_index(component), &component);
    TITAN_USER_CHECK(is_new,
                     "[parallel.planners] phase ",
                     kPhases[found->first],
                     ": expected one planner, got ",
                     found->second->id,
                     " and ",
                     id);
  }
  return by_phase;
}

void append_to_string(void* self, titan_str part) {
  static_cast<std::string*>(self)->append(plugin::view(part));
}

// One planner's answer as text.
std::string run_planner(const plugin::Component& component,
                        const std::string& request) {
  const auto& table = component.as<titan_parallel_table>();
  const config::ComponentConfig config(config::Value::empty_map(),
                                       "parallel.planners");
  titan_object* object = nullptr;
  titan_error error = plugin::make_error();
  plugin::check_call(
      table.create(&component.owner->host, config.as_abi(), &object, &error),
      error,
      component.id);
  std::string answer;
  const titan_text_sink sink = {.struct_size = sizeof(titan_text_sink),
                                .reserved = 0,
                                .self = &answer,
                                .write = append_to_string};
  const int32_t code =
      table.plan(object, plugin::abi_str(request), &sink, &error);
  table.destroy(object);
  plugin::check_call(code, error, component.id);
  return answer;
}

// The planner's keys, checked to be its own.
Json read_answer(const plugin::Component& component,
                 std::string_view phase,
                 const std::string& answer) {
  Json json = Json::parse(answer, nullptr, false);
  TITAN_USER_CHECK(json.is_object(),
                   "[plugin ",
                   component.id,
                   "] plan: expected a JSON object, got ",
                   json.is_discarded() ? "text that is no JSON"
                                       : std::string(json.type_name()));
  for (const auto& [key, value] : json.items())
    TITAN_USER_CHECK(key == phase,
                     "[plugin ",
                     component.id,
                     "] plan: expected only the key of its phase, ",
                     phase,
                     ", got ",
                     key);
  return json;
}

}  // namespace

std::string plan_request(const ModuleTree& tree, const PlanOptions& options) {
  return request_json(tree, options).dump();
}

Plan make_plan(const ModuleTree& tree,
               const PlanOptions& options,
               const std::vector<std::string>& planners,
               const plugin::PluginRegistry& plugins) {
  Plan base = default_plan(tree, options.microbatches);
  base.mesh = options.shape;
  Json plan = Json::parse(plan_to_json(base));
  Json request = request_json(tree, options);
  request["plan"] = Json::object();
  const auto chosen = planners_by_phase(
      planners.empty() ? built_in_choice(options) : planners, plugins);
  for (const auto& [phase, component] : chosen) {
    const Json answer = read_answer(
        *component, kPhases[phase], run_planner(*component, request.dump()));
    plan.update(answer);
    request["plan"].update(answer);
  }
  Plan made = plan_from_json(plan.dump());
  validate_plan(made, tree, options.microbatches);
  return made;
}

}  // namespace titan::parallel
