// SPDX-License-Identifier: BSD-3-Clause
// One plugin file judged as the loader would, by commands that do not load it.
#pragma once

#include <string>

#include <titan/abi.h>

#include "core/plugin/inspection.h"

namespace titan::cli {

/// A host table that offers nothing: an entry must not call it.
const titan_host_api& silent_host();

/// Everything that its bytes and its place tell. Runs none of its code.
plugin::Inspection inspect_for_loading(const std::string& file,
                                       const plugin::HostFacts& host);

/// Runs the entry of a usable plugin in a child process and adds what is wrong.
void probe_entry(plugin::Inspection& inspection);

}  // namespace titan::cli
