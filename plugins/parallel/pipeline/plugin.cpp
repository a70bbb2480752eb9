// SPDX-License-Identifier: BSD-3-Clause
// Registers the planner titan.pipeline.
#include <titan/sdk/plugin.hpp>

#include "plugins/parallel/pipeline/plan.h"

TITAN_PLUGIN({.name = "titan.pipeline",
              .version = "0.1.0",
              .vendor = "Titan",
              .licence = "BSD-3-Clause"},
             titan::planner<titan::pipeline_plan::PipelinePlanner>(
                 "titan.pipeline",
                 "Pipeline stages of equal weight, GPipe or 1F1B"))
