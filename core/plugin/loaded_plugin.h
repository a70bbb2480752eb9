// SPDX-License-Identifier: BSD-3-Clause
// What the rest of the host holds of a plugin.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <titan/abi.h>

#include "core/plugin/manifest.h"
#include "core/plugin/search.h"

namespace titan::plugin {

/// A mapped plugin. Immutable.
struct LoadedPlugin {
  std::string name;
  std::string version;
  std::string vendor;
  std::string path;       ///< as found
  std::string real_path;  ///< after links: what was read
  std::string sha256;
  Level level = Level::kExplicit;
  /// The host's table with the minor negotiated with this plugin: what its
  /// functions are called with.
  titan_host_api host{};
  const void* (*get_interface)(titan_str id) = nullptr;  ///< may be null
  std::vector<std::shared_ptr<const void>> tables;       ///< of its components
};

struct Component {
  std::string kind;  ///< "titan.kernel/1"
  std::string id;
  std::string summary;
  std::string config_schema;  ///< JSON Schema; empty = no options
  /// The kind's table, this host's size, null where the plugin has no function.
  const void* table = nullptr;
  std::optional<KernelMatch> kernel;  ///< of kernels
  std::shared_ptr<const LoadedPlugin> owner;

  template <typename Table>
  const Table& as() const {
    return *static_cast<const Table*>(table);
  }
};

}  // namespace titan::plugin
