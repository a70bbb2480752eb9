// SPDX-License-Identifier: BSD-3-Clause
// From judged and staged bytes to a mapped plugin with its components: the last
// third of the load algorithm (docs/plugins.md). Read before: inspection.h,
// stage.h. Read next: registry.h.
#pragma once

#include <memory>
#include <vector>

#include <titan/abi.h>

#include "core/plugin/host_facts.h"
#include "core/plugin/inspection.h"
#include "core/plugin/loaded_plugin.h"
#include "core/plugin/stage.h"

namespace titan::plugin {

struct LoadResult {
  std::shared_ptr<const LoadedPlugin> plugin;
  std::vector<Component> components;  ///< those that this host can use
};

/// Whether this process has these very bytes mapped and described to this host:
/// `load_staged` then needs no staged file. [thread: any]
bool is_mapped(const Inspection& inspection,
               const titan_host_api& host,
               const HostFacts& facts);

/// Maps `staged` into this process, calls its entry and holds what it gives
/// against the note; where `is_mapped`, takes what the entry gave then: a
/// plugin is mapped and entered once per process and host table. Throws
/// UserError; the mapping then stays, unused.
LoadResult load_staged(const Inspection& inspection,
                       const StagedFile& staged,
                       Level level,
                       const titan_host_api& host,
                       const HostFacts& facts);

}  // namespace titan::plugin
