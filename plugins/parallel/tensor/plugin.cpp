// SPDX-License-Identifier: BSD-3-Clause
// Registers the planner titan.tensor.
#include <titan/sdk/plugin.hpp>

#include "plugins/parallel/tensor/plan.h"

TITAN_PLUGIN({.name = "titan.tensor",
              .version = "0.1.0",
              .vendor = "Titan",
              .licence = "BSD-3-Clause"},
             titan::planner<titan::tensor_plan::TensorPlanner>(
                 "titan.tensor",
                 "Tensor parallelism by the sharding hints of the model"))
