// SPDX-License-Identifier: BSD-3-Clause
// A storage plugin (kind titan.storage/1) as the FileSystem that checkpoints
// are written through: paths become keys, sync and folders nothing.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <titan/abi.h>
#include <titan/abi/storage.h>

#include "core/checkpoint/storage.h"
#include "core/config/component_config.h"
#include "core/plugin/loaded_plugin.h"
#include "core/plugin/registry.h"

namespace titan::plugin {

inline constexpr const char* kStorageKind = "titan.storage/1";

/// Any thread may call it, as the plugin must allow. Errors keep the plugin's
/// kind and text.
class PluginFileSystem final : public checkpoint::FileSystem {
 public:
  /// `config`: checked against the component's schema, with defaults.
  PluginFileSystem(const Component& component, config::Value config);
  ~PluginFileSystem() override;
  PluginFileSystem(const PluginFileSystem&) = delete;
  PluginFileSystem& operator=(const PluginFileSystem&) = delete;

  bool is_object_store() const override { return true; }
  std::unique_ptr<checkpoint::WritableFile> create(
      const std::filesystem::path& path) override;
  std::unique_ptr<checkpoint::ReadableFile> open(
      const std::filesystem::path& path) const override;
  std::optional<std::uint64_t> size(
      const std::filesystem::path& path) const override;
  void remove(const std::filesystem::path& path) override;
  std::vector<checkpoint::FolderEntry> list(
      const std::filesystem::path& path) const override;
  bool exists(const std::filesystem::path& path) const override;
  void make_folder(const std::filesystem::path& path) override;
  void sync_folder(const std::filesystem::path& path) override;
  /// BugError: nothing that knows is_object_store() calls it.
  void rename(const std::filesystem::path& from,
              const std::filesystem::path& to) override;

 private:
  const titan_storage_table& table_;
  std::shared_ptr<const void> keepalive_;
  std::string id_;
  config::ComponentConfig config_;
  titan_object* object_ = nullptr;
};

}  // namespace titan::plugin
