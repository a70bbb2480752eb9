// SPDX-License-Identifier: BSD-3-Clause
// What all ranks of a process share: plugins, kernels, the resolved recipe.
// Opening one does all the checking that needs no device.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/checkpoint/storage.h"
#include "core/config/recipe.h"
#include "core/op/kernel.h"
#include "core/op/select.h"
#include "core/plugin/registry.h"
#include "core/train/plugin_section.h"

namespace titan::train {

struct SessionOptions {
  std::vector<std::string> overrides;       // --set
  std::vector<std::string> plugin_files;    // --plugin FILE
  std::vector<std::string> plugin_folders;  // --plugin-path FOLDER
};

/// Plugins without a recipe: parity, convert, `titan plugin list`.
struct PluginHost {
  explicit PluginHost(const plugin::SearchOptions& search,
                      const PluginSection& section = {});

  plugin::PluginRegistry plugins;
  std::shared_ptr<op::KernelRegistry> kernels;

  /// The model plugin that reads Hugging Face's `model_type`. UserError names
  /// those that are known.
  const plugin::Component& find_model_for(const std::string& model_type) const;
};

class Session {
 public:
  /// Reads and checks the recipe; loads plugins that it and the search name.
  Session(const std::string& recipe_file, const SessionOptions& options);

  const config::Recipe& recipe() const { return recipe_; }
  PluginHost& host() { return *host_; }
  const PluginHost& host() const { return *host_; }
  std::shared_ptr<const op::KernelSelector> make_selector() const;
  /// ids, versions and sha256 of the plugins that the recipe uses, as JSON.
  std::string plugin_lock() const;

 private:
  std::unique_ptr<PluginHost> host_;
  config::Recipe recipe_;
};

/// Where checkpoints lie: the storage plugin `id`, opened; null for "file".
std::unique_ptr<checkpoint::FileSystem> open_storage(
    const PluginHost& host,
    const std::string& id,
    const config::Value& config);

/// `given` held against the component's schema, defaults filled in: what a
/// recipe does for its `config` section. UserError lists every fault.
config::Value complete_config(const plugin::Component& component,
                              const config::Value& given);

/// The registry of schemas with what `plugins` offer.
config::SchemaRegistry make_schemas(const plugin::PluginRegistry& plugins);

}  // namespace titan::train
