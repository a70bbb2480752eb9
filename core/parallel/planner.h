// SPDX-License-Identifier: BSD-3-Clause
// From mesh, module tree and options to a validated plan: planner plugins run
// in a fixed order (expert, tensor, context, recompute, pipeline, data), each
// owns its key. What no planner writes has the default: one stage, a forward
// and a backward per microbatch, a replicated bucket per item, no recompute.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/module/tree.h"
#include "core/parallel/plan.h"
#include "core/plugin/registry.h"

namespace titan::parallel {

struct PlanOptions {
  MeshShape shape;
  int64_t microbatches = 1;
  std::string recompute_mode = "none";
  std::vector<std::string> recompute_save_ops;
  std::optional<std::string> recompute_match;  // item pattern; none = blocks
  std::string schedule = "1f1b";
  int64_t pipeline_input_weight = 1;  // in layers
  int64_t pipeline_output_weight = 1;
  std::string reshard_after_forward = "default";  // always | never | default
};

/// What planners are asked: {mesh, model, training, options} as JSON, without
/// the keys of the plan so far. Grammar: docs/parallelism.md.
std::string plan_request(const module::ModuleTree& tree,
                         const PlanOptions& options);

/// `planners`: component ids; empty = titan.tensor, titan.recompute,
/// titan.pipeline and titan.fsdp where the options need them. UserError for an
/// unknown id, a phase given twice, a key that is not the planner's own, or a
/// plan that does not validate.
Plan make_plan(const module::ModuleTree& tree,
               const PlanOptions& options,
               const std::vector<std::string>& planners,
               const plugin::PluginRegistry& plugins);

/// The plan without any planner: for one rank, parity and generation.
Plan default_plan(const module::ModuleTree& tree, int64_t microbatches);

}  // namespace titan::parallel
