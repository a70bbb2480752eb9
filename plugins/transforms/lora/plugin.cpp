// SPDX-License-Identifier: BSD-3-Clause
// Registers the transform titan.lora.
#include <titan/sdk/plugin.hpp>

#include "plugins/transforms/lora/lora.h"

TITAN_PLUGIN({.name = "titan.lora",
              .version = "0.1.0",
              .vendor = "Titan",
              .licence = "BSD-3-Clause"},
             titan::transform<titan::lora::Lora>(
                 "titan.lora",
                 "Low-rank adapters of linear layers: LoRA, rsLoRA, DoRA"))
