// SPDX-License-Identifier: BSD-3-Clause
// Registers the model titan.gpt.
#include <titan/sdk/plugin.hpp>

#include "plugins/models/gpt/model.h"

TITAN_PLUGIN({.name = "titan.gpt",
              .version = "0.1.0",
              .vendor = "Titan",
              .licence = "BSD-3-Clause"},
             titan::model<titan::gpt::Gpt>("titan.gpt",
                                           "Decoder configured by options"))
