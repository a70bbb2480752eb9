// SPDX-License-Identifier: BSD-3-Clause
// Registers the model titan.llama3.
#include <titan/sdk/plugin.hpp>

#include "plugins/models/llama3/model.h"

TITAN_PLUGIN({.name = "titan.llama3",
              .version = "0.1.0",
              .vendor = "Titan",
              .licence = "BSD-3-Clause"},
             titan::model<titan::llama3::Llama3>("titan.llama3",
                                                 "Llama 3 decoder, 1B to 405B"))
