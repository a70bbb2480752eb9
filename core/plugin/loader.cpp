// SPDX-License-Identifier: BSD-3-Clause
#include "core/plugin/loader.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "core/plugin/description.h"
#include "core/plugin/library.h"

namespace titan::plugin {
namespace {

/// A plugin may have kept the address of its host table, which the ABI promises
/// for the life of the process; so the object is never freed.
void keep_for_ever(std::shared_ptr<const LoadedPlugin> plugin) {
  static std::mutex mutex;
  static auto& plugins =
      *new std::vector<std::shared_ptr<const LoadedPlugin>>();
  const std::lock_guard lock(mutex);
  plugins.push_back(std::move(plugin));
}

std::shared_ptr<LoadedPlugin> make_plugin(const Inspection& inspection,
                                          Level level,
                                          const titan_host_api& host,
                                          const HostFacts& facts) {
  const Manifest& note = *inspection.manifest;
  auto plugin = std::make_shared<LoadedPlugin>();
  plugin->name = note.name;
  plugin->version = note.version;
  plugin->vendor = note.vendor;
  plugin->path = inspection.path;
  plugin->real_path = inspection.real_path;
  plugin->sha256 = inspection.sha256;
  plugin->level = level;
  plugin->host = host;
  plugin->host.abi_minor = std::min(facts.abi_minor, note.abi_minor_built);
  return plugin;
}

}  // namespace

LoadResult load_staged(const Inspection& inspection,
                       const StagedFile& staged,
                       Level level,
                       const titan_host_api& host,
                       const HostFacts& facts) {
  const std::string& file = inspection.path;
  const auto entry = open_library(staged, inspection.elf->build_id, file);
  auto plugin = make_plugin(inspection, level, host, facts);
  keep_for_ever(plugin);
  Description description = describe_plugin(entry, plugin->host, file);
  require_same(description, *inspection.manifest, file);
  plugin->get_interface = description.get_interface;

  LoadResult out;
  for (DescribedComponent& item : description.components) {
    if (!item.is_known_kind || refuse_component(item.about, facts, file))
      continue;  // listed as unusable by `titan plugin inspect`
    plugin->tables.push_back(item.table);
    out.components.push_back(
        {.kind = std::move(item.about.kind),
         .id = std::move(item.about.id),
         .summary = std::move(item.about.summary),
         .config_schema = std::move(item.about.config_schema),
         .table = item.table.get(),
         .kernel = std::move(item.about.kernel),
         .owner = plugin});
  }
  out.plugin = std::move(plugin);
  return out;
}

}  // namespace titan::plugin
