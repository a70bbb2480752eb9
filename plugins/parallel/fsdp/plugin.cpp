// SPDX-License-Identifier: BSD-3-Clause
// Registers the planner titan.fsdp.
#include <titan/sdk/plugin.hpp>

#include "plugins/parallel/fsdp/plan.h"

TITAN_PLUGIN({.name = "titan.fsdp",
              .version = "0.1.0",
              .vendor = "Titan",
              .licence = "BSD-3-Clause"},
             titan::planner<titan::fsdp_plan::FsdpPlanner>(
                 "titan.fsdp",
                 "Data parallelism: sharded, replicated or both"))
