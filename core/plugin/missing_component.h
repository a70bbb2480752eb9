// SPDX-License-Identifier: BSD-3-Clause
// The answer to "use: titan.lama3": why it is not there, and what would help.
#pragma once

#include <string>
#include <vector>

#include "core/plugin/registry.h"

namespace titan::plugin {

/// True if the file's note names the component.
bool provides(const PluginStatus& status,
              const std::string& kind,
              const std::string& id);

/// Throws UserError NOT_FOUND with the file that would provide the component
/// and what keeps it from doing so, else with the nearest id of the kind, else
/// with the folders that were searched.
[[noreturn]] void throw_missing_component(
    const std::string& kind,
    const std::string& id,
    const std::vector<PluginStatus>& plugins,
    const std::vector<SearchFolder>& folders);

}  // namespace titan::plugin
