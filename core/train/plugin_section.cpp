// SPDX-License-Identifier: BSD-3-Clause
#include "core/train/plugin_section.h"

#include <algorithm>

#include <titan/error.h>

namespace titan::train {
namespace {

std::string text_of(const config::Value& entry, const char* key) {
  const config::Value* value = entry.find(key);
  return value != nullptr && value->is_string() ? value->as_string()
                                                : std::string();
}

void add_entry(const config::Value& entry, PluginSection& out) {
  const std::string path = text_of(entry, "path");
  const std::string name = text_of(entry, "name");
  const std::string sha256 = text_of(entry, "sha256");
  TITAN_USER_CHECK(path.empty() != name.empty(),
                   entry.origin().describe(),
                   ": [plugins.load] an entry names one plugin: expected path "
                   "or name, got ",
                   path.empty() ? "neither" : "both");
  if (!path.empty()) {
    out.files.push_back({path, sha256});
    return;
  }
  out.names.push_back(name);
  if (!sha256.empty()) out.options.pins[name] = sha256;
}

}  // namespace

PluginSection read_plugin_section(const config::Composition& composition,
                                  const config::SchemaRegistry& core) {
  return plugin_section_of(
      config::resolve_section(composition, core, "plugins"));
}

PluginSection plugin_section_of(const config::Value& section) {
  PluginSection out;
  for (const config::Value& folder : section.at_path("search")->as_list())
    out.folders.push_back(folder.as_string());
  for (const config::Value& entry : section.at_path("load")->as_list())
    add_entry(entry, out);
  out.options.is_pin_required =
      section.at_path("policy")->as_string() == "locked";
  return out;
}

void mark_plugin_section_read(const config::Recipe& recipe) {
  const config::Recipe section = recipe.section("plugins");
  section.strings("search");
  section.string("policy");
  const config::Value& load = *recipe.root().at_path("plugins.load");
  for (std::size_t i = 0; i < load.as_list().size(); ++i)
    for (const char* key : {"path", "name", "sha256"})
      section.optional_string(text("load[", i, "].", key));
}

void load_pinned(plugin::PluginRegistry& plugins,
                 const PluginSection& section) {
  for (const PluginSection::File& file : section.files)
    if (!file.sha256.empty()) plugins.load(file.path, file.sha256);
}

void require_named(const plugin::PluginRegistry& plugins,
                   const PluginSection& section) {
  std::vector<std::string> loaded;
  for (const plugin::PluginStatus& status : plugins.list())
    if (status.state == plugin::State::kLoaded)
      loaded.push_back(status.manifest->name);
  for (const std::string& name : section.names)
    TITAN_USER_CHECK(
        std::find(loaded.begin(), loaded.end(), name) != loaded.end(),
        "[plugins.load] no usable plugin has this name: expected one of ",
        loaded,
        ", got '",
        name,
        "'. `titan plugin list -v` says why others are not usable.");
}

}  // namespace titan::train
