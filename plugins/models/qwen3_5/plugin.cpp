// SPDX-License-Identifier: BSD-3-Clause
// Registers the model titan.qwen3_5.
#include <titan/sdk/plugin.hpp>

#include "plugins/models/qwen3_5/model.h"

TITAN_PLUGIN({.name = "titan.qwen3_5",
              .version = "0.1.0",
              .vendor = "Titan",
              .licence = "BSD-3-Clause"},
             titan::model<titan::qwen3_5::Qwen35>(
                 "titan.qwen3_5",
                 "Qwen3.5 text decoder: Gated DeltaNet and gated attention, "
                 "dense 0.8B to 27B, MoE to 397B"))
