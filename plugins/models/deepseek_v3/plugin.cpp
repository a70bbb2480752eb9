// SPDX-License-Identifier: BSD-3-Clause
// Registers the model titan.deepseek_v3.
#include <titan/sdk/plugin.hpp>

#include "plugins/models/deepseek_v3/model.h"

TITAN_PLUGIN({.name = "titan.deepseek_v3",
              .version = "0.1.0",
              .vendor = "Titan",
              .licence = "BSD-3-Clause"},
             titan::model<titan::deepseek_v3::DeepseekV3>(
                 "titan.deepseek_v3",
                 "DeepSeek V3 and V2: latent attention, experts, 16B to 671B"))
