// SPDX-License-Identifier: BSD-3-Clause
// What a plugin's entry hands over, copied out of the plugin: every table into
// zero-filled memory of this host's size, so that a plugin built against fewer
// fields has null in the rest, and one built against more is cut.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <titan/abi.h>

#include "core/plugin/manifest.h"

namespace titan::plugin {

struct DescribedComponent {
  ManifestComponent about;
  bool is_known_kind = false;
  std::shared_ptr<const void> table;  ///< titan_..._table of the kind
};

struct Description {
  std::string name;
  std::string version;
  std::string vendor;
  std::uint32_t abi_minor_built = 0;
  std::uint32_t abi_minor_min = 0;
  const void* (*get_interface)(titan_str id) = nullptr;
  std::vector<DescribedComponent> components;
};

/// Calls the entry and copies what it gives. Contains exceptions. Throws
/// UserError ENTRY_FAILED (with the plugin's own text), BAD_TABLE.
Description describe_plugin(titan_plugin_entry_fn entry,
                            const titan_host_api& host,
                            const std::string& file);

/// Throws UserError DESC_MISMATCH unless the plugin is what its note says: the
/// note was judged, the table is used.
void require_same(const Description& table,
                  const Manifest& note,
                  const std::string& file);

}  // namespace titan::plugin
