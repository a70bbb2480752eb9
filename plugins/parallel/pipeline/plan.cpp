// SPDX-License-Identifier: BSD-3-Clause
// Stages by TorchTitan's rule: what comes before the layers weighs as much as
// one layer, what comes after as another (or as the recipe says); the sum is
// shared out evenly and the first stages take the rest.
#include "plugins/parallel/pipeline/plan.h"

#include <algorithm>

namespace titan::pipeline_plan {
namespace {

// In layers: embedding; norm and head.
struct Weights {
  int64_t input = 1, output = 1;
};

struct Items {
  std::vector<std::string> before, layers, after;
};

bool is_leaf(const Json& model, const std::string& fqn) {
  for (const Json& module : model.at("modules").items())
    if (module.at("fqn").str() == fqn) return module.at("is_leaf").flag();
  return false;
}

// Layers are the composite items; leaves around them are input and output.
Items split_items(const Json& model) {
  Items items;
  for (const Json& item : model.at("items").items()) {
    const std::string fqn = item.at("fqn").str();
    // Towers run on the first stage, whatever they weigh.
    if (item.has("is_tower") && item.at("is_tower").flag()) {
      items.before.push_back(fqn);
    } else if (!is_leaf(model, fqn)) {
      items.layers.insert(
          items.layers.end(), items.after.begin(), items.after.end());
      items.after.clear();
      items.layers.push_back(fqn);
    } else {
      (items.layers.empty() ? items.before : items.after).push_back(fqn);
    }
  }
  return items;
}

// Layers per stage.
std::vector<int64_t> share_out(int64_t num_layers,
                               int64_t num_stages,
                               const Weights& weights) {
  if (num_stages == 1) return {num_layers};
  const int64_t weight = num_layers + weights.input + weights.output;
  TITAN_USER_CHECK(num_stages <= weight,
                   "[parallel.pp] stages: expected at most ",
                   weight,
                   " (",
                   num_layers,
                   " layers, input and output), got ",
                   num_stages);
  std::vector<int64_t> layers;
  for (int64_t s = 0; s < num_stages; ++s)
    layers.push_back(weight / num_stages + (s < weight % num_stages ? 1 : 0));
  const auto take = [](const char* name, int64_t& stage, int64_t taken) {
    TITAN_USER_CHECK(taken <= stage,
                     "[parallel.pipeline_",
                     name,
                     "_weight] must not exceed its stage's share: expected at "
                     "most ",
                     stage,
                     " layers, got ",
                     taken);
    stage -= taken;
  };
  take("input", layers.front(), weights.input);
  take("output", layers.back(), weights.output);
  return layers;
}

Json make_items(const Items& items,
                const std::vector<int64_t>& layers,
                size_t stage,
                size_t& next) {
  Json list = Json::array();
  if (stage == 0)
    for (const std::string& item : items.before) list.push_back(item);
  for (int64_t i = 0; i < layers[stage]; ++i)
    list.push_back(items.layers[next++]);
  if (stage + 1 == layers.size())
    for (const std::string& item : items.after) list.push_back(item);
  return list;
}

// Forwards that a stage runs before its first backward.
int64_t warmup_of(const std::string& schedule,
                  int64_t microbatches,
                  int64_t stages_left) {
  TITAN_USER_CHECK(schedule == "gpipe" || schedule == "1f1b",
                   "[parallel.schedule] expected gpipe or 1f1b, got ",
                   schedule);
  return schedule == "gpipe" ? microbatches
                             : std::min(microbatches, stages_left);
}

Json make_actions(int64_t microbatches, int64_t warmup) {
  Json actions = Json::array();
  const auto add = [&](char kind, int64_t microbatch) {
    actions.push_back(text(kind, microbatch));
  };
  for (int64_t m = 0; m < warmup; ++m) add('F', m);
  for (int64_t m = 0; m < microbatches; ++m) {
    add('B', m);
    if (m + warmup < microbatches) add('F', m + warmup);
  }
  return actions;
}

}  // namespace

Json PipelinePlanner::plan(const Json& request) const {
  const int64_t num_stages = request.at("mesh").at("pp").i64();
  const int64_t microbatches = request.at("training").at("microbatches").i64();
  const std::string schedule = request.at("options").str_or("schedule", "1f1b");
  Weights weights;
  if (request.at("options").has("pipeline_input_weight")) {
    weights.input = request.at("options").at("pipeline_input_weight").i64();
    weights.output = request.at("options").at("pipeline_output_weight").i64();
  }
  const Items items = split_items(request.at("model"));
  const auto layers =
      share_out(static_cast<int64_t>(items.layers.size()), num_stages, weights);
  Json stages = Json::array();
  size_t next = 0;
  for (size_t s = 0; s < layers.size(); ++s) {
    const int64_t warmup =
        warmup_of(schedule, microbatches, num_stages - static_cast<int64_t>(s));
    Json names = make_items(items, layers, s, next);
    stages.push_back(
        Json::object({{"items", std::move(names)},
                      {"actions", make_actions(microbatches, warmup)}}));
  }
  return Json::object(
      {{"pipeline",
        Json::object({{"stages", stages}, {"schedule", schedule}})}});
}

}  // namespace titan::pipeline_plan
