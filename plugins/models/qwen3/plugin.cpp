// SPDX-License-Identifier: BSD-3-Clause
// Registers the model titan.qwen3.
#include <titan/sdk/plugin.hpp>

#include "plugins/models/qwen3/model.h"

TITAN_PLUGIN({.name = "titan.qwen3",
              .version = "0.1.0",
              .vendor = "Titan",
              .licence = "BSD-3-Clause"},
             titan::model<titan::qwen3::Qwen3>(
                 "titan.qwen3",
                 "Qwen3 decoder, dense and MoE, 0.6B to 235B"))
