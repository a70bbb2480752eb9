// SPDX-License-Identifier: BSD-3-Clause
// A recipe's `plugins` section: where to look, what to load, which files are
// pinned. Read before the other sections, which name components by id.
#pragma once

#include <string>
#include <vector>

#include "core/config/recipe.h"
#include "core/plugin/registry.h"

namespace titan::train {

struct PluginSection {
  struct File {
    std::string path;
    std::string sha256;  // empty = not pinned
  };

  std::vector<std::string> folders;
  std::vector<File> files;
  std::vector<std::string> names;  // must be among what is found
  plugin::LoadOptions options;     // pins by name, policy
};

/// Reads the section alone. UserError for an entry of `load` that has not
/// exactly one of path and name.
PluginSection read_plugin_section(const config::Composition& composition,
                                  const config::SchemaRegistry& core);

/// The same of a section that is resolved already (a checkpoint's recipe).
PluginSection plugin_section_of(const config::Value& section);

/// Marks in the resolved recipe what read_plugin_section reads, so that the
/// keys it does not honour are still reported as without effect.
void mark_plugin_section_read(const config::Recipe& recipe);

/// Loads the section's pinned files. Call before load_all.
void load_pinned(plugin::PluginRegistry& plugins, const PluginSection& section);

/// UserError for a name of `load` that no loaded plugin has.
void require_named(const plugin::PluginRegistry& plugins,
                   const PluginSection& section);

}  // namespace titan::train
