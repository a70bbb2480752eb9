// SPDX-License-Identifier: BSD-3-Clause
// A dataset plugin (kind titan.dataset/1) as what lanes read: its shards are
// units, its records are put into blocks of data.shuffle_buffer bytes, and a
// block is named by its first record, so that a run resumes at (shard, record).
// What is held out and what happens to bad records is decided here.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <titan/abi/dataset.h>

#include "core/config/value.h"
#include "core/data/dataset.h"
#include "core/plugin/loaded_plugin.h"

namespace titan::plugin {

inline constexpr const char* kDatasetKind = "titan.dataset/1";

class PluginDatasetOpener final : public DatasetOpener {
 public:
  /// `config`: checked against the component's schema, with defaults; `where`
  /// is its path in the recipe ("data.config").
  PluginDatasetOpener(const Component& component,
                      config::Value config,
                      std::string where);

  /// UserError: the plugin says so, did not read a key of `config`, or gives
  /// facts that cannot be.
  std::unique_ptr<Dataset> open(const DatasetOptions& options) const override;
  const std::optional<std::vector<std::string>>& endings() const override {
    return endings_;
  }

 private:
  const Component& component_;  // Of the registry, which outlives the data.
  config::Value config_;
  std::string where_;
  std::optional<std::vector<std::string>> endings_;
};

}  // namespace titan::plugin
