// SPDX-License-Identifier: BSD-3-Clause
// Is a plan one that the host can execute? Everything that a planner, ours or a
// third party's, may get wrong is found here, before any device is touched.
#pragma once

#include "core/module/tree.h"
#include "core/parallel/plan.h"

namespace titan::parallel {

/// UserError `[plan key] ...` unless: stages hold every item once, in order;
/// each stage runs every microbatch forward once and then backward once, and
/// the stages together come to an end; buckets hold every item, hence every
/// parameter, once; every pattern matches something; cuts divide; a tied
/// parameter's users share a stage and its first user's bucket comes first.
void validate_plan(const Plan& plan,
                   const module::ModuleTree& tree,
                   int64_t microbatches);

}  // namespace titan::parallel
