// SPDX-License-Identifier: BSD-3-Clause
// The JSON of `titan plugin inspect --json` (grammar: docs/plugins.md).
#pragma once

#include <string>

#include "core/plugin/inspection.h"

namespace titan::cli {

/// One line. `mode`: "static", or "probed" where the plugin's code was run.
std::string inspection_json(const plugin::Inspection& inspection,
                            const plugin::HostFacts& host,
                            const std::string& mode);

}  // namespace titan::cli
