// SPDX-License-Identifier: BSD-3-Clause
// Registers the optimizer titan.adamw.
#include <titan/sdk/plugin.hpp>

#include "plugins/optimizers/adamw/adamw.h"

TITAN_PLUGIN(
    {.name = "titan.adamw",
     .version = "0.1.0",
     .vendor = "Titan",
     .licence = "BSD-3-Clause"},
    titan::optimizer<titan::adamw::AdamW>("titan.adamw",
                                          "Adam with decoupled weight decay"))
