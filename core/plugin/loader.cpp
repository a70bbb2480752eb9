// SPDX-License-Identifier: BSD-3-Clause
#include "core/plugin/loader.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <type_traits>
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

titan_host_api negotiate(const titan_host_api& host,
                         const HostFacts& facts,
                         const Manifest& note) {
  titan_host_api out = host;
  out.abi_minor = std::min(facts.abi_minor, note.abi_minor_built);
  return out;
}

// Host tables are compared byte by byte.
static_assert(std::has_unique_object_representations_v<titan_host_api>);

/// A plugin that this process has mapped, and what its entry gave to `host`.
struct MappedImage {
  titan_host_api host;
  std::shared_ptr<const Description> description;
};

/// By sha256. A process that opens many registries (a service, a test binary)
/// maps a plugin once: nothing is ever unmapped, so each further mapping of the
/// same bytes would be memory lost (13 GB in 500 sessions under ASan).
class MappedImages {
 public:
  static MappedImages& instance() {
    static auto& images = *new MappedImages();
    return images;
  }

  std::shared_ptr<const Description> find(const std::string& sha256,
                                          const titan_host_api& host) const {
    const std::lock_guard lock(mutex_);
    const auto [begin, end] = images_.equal_range(sha256);
    for (auto at = begin; at != end; ++at)
      if (std::memcmp(&at->second.host, &host, sizeof(host)) == 0)
        return at->second.description;
    return nullptr;
  }

  void add(const std::string& sha256, MappedImage image) {
    const std::lock_guard lock(mutex_);
    images_.emplace(sha256, std::move(image));
  }

 private:
  mutable std::mutex mutex_;
  std::multimap<std::string, MappedImage> images_;
};

std::shared_ptr<LoadedPlugin> make_plugin(const Inspection& inspection,
                                          Level level,
                                          const titan_host_api& host) {
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
  return plugin;
}

/// Maps, calls the entry, and remembers what it gave.
std::shared_ptr<const Description> map_and_describe(
    const Inspection& inspection,
    const StagedFile& staged,
    const titan_host_api& host) {
  const std::string& file = inspection.path;
  const auto entry = open_library(staged, inspection.elf->build_id, file);
  auto description =
      std::make_shared<const Description>(describe_plugin(entry, host, file));
  require_same(*description, *inspection.manifest, file);
  MappedImages::instance().add(inspection.sha256, {host, description});
  return description;
}

}  // namespace

bool is_mapped(const Inspection& inspection,
               const titan_host_api& host,
               const HostFacts& facts) {
  return MappedImages::instance().find(
             inspection.sha256, negotiate(host, facts, *inspection.manifest)) !=
         nullptr;
}

LoadResult load_staged(const Inspection& inspection,
                       const StagedFile& staged,
                       Level level,
                       const titan_host_api& host,
                       const HostFacts& facts) {
  auto plugin = make_plugin(
      inspection, level, negotiate(host, facts, *inspection.manifest));
  keep_for_ever(plugin);
  // One at a time: two registries of a process may meet here.
  static std::mutex mapping;
  std::unique_lock lock(mapping);
  auto description =
      MappedImages::instance().find(inspection.sha256, plugin->host);
  if (description == nullptr)
    description = map_and_describe(inspection, staged, plugin->host);
  lock.unlock();
  plugin->get_interface = description->get_interface;

  LoadResult out;
  for (const DescribedComponent& item : description->components) {
    if (!item.is_known_kind ||
        refuse_component(item.about, facts, inspection.path))
      continue;  // listed as unusable by `titan plugin inspect`
    plugin->tables.push_back(item.table);
    out.components.push_back({.kind = item.about.kind,
                              .id = item.about.id,
                              .summary = item.about.summary,
                              .config_schema = item.about.config_schema,
                              .table = item.table.get(),
                              .kernel = item.about.kernel,
                              .owner = plugin});
  }
  out.plugin = std::move(plugin);
  return out;
}

}  // namespace titan::plugin
