// SPDX-License-Identifier: BSD-3-Clause
// The forms of our own and of PyTorch in which `titan convert` writes weights.
// Each appears under its name only when it is complete.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/checkpoint/dtype.h"
#include "core/module/model.h"
#include "core/train/convert_keys.h"
#include "core/train/session.h"

namespace titan::cli {

struct ConvertTarget {
  std::filesystem::path output;         // must not exist
  std::filesystem::path config_folder;  // config.json, tokenizer
  std::string recipe;  // of the checkpoint that was read; empty: none was
  std::vector<std::string> plugin_files;  // that gave the model
  std::int64_t max_shard_bytes = 0;
  std::optional<checkpoint::Dtype> dtype;   // that was asked for
  std::unique_ptr<train::PluginHost> host;  // null where no model is needed
  std::unique_ptr<module::Model> model;
};

/// A folder of safetensors, configuration and tokenizer.
void write_folder(const ConvertTarget& target,
                  train::Sources tensors,
                  bool has_titan_names);

/// A file of torch.save.
void write_torch(const ConvertTarget& target, const train::Sources& tensors);

/// A folder with one checkpoint, step 0: the model and how to make it.
void write_checkpoint(const ConvertTarget& target, train::Sources tensors);

}  // namespace titan::cli
