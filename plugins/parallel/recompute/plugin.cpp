// SPDX-License-Identifier: BSD-3-Clause
// Registers the planner titan.recompute.
#include <titan/sdk/plugin.hpp>

#include "plugins/parallel/recompute/plan.h"

TITAN_PLUGIN({.name = "titan.recompute",
              .version = "0.1.0",
              .vendor = "Titan",
              .licence = "BSD-3-Clause"},
             titan::planner<titan::recompute_plan::RecomputePlanner>(
                 "titan.recompute",
                 "Which activations backward computes again"))
