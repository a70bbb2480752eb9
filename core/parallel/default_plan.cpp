// SPDX-License-Identifier: BSD-3-Clause
// The plan that needs no planner: one stage, microbatch after microbatch.
#include "core/parallel/planner.h"
#include "core/parallel/stage_items.h"

namespace titan::parallel {

Plan default_plan(const module::ModuleTree& tree, int64_t microbatches) {
  Plan plan;
  StagePlan stage;
  stage.items = item_names(tree);
  for (int64_t i = 0; i < microbatches; ++i) {
    stage.actions.push_back({Action::Kind::kForward, i});
    stage.actions.push_back({Action::Kind::kBackward, i});
  }
  for (const std::string& item : stage.items)
    plan.buckets.push_back({item, {item}, Placement::kReplicate, false});
  plan.stages.push_back(std::move(stage));
  return plan;
}

}  // namespace titan::parallel
