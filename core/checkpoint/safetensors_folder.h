// SPDX-License-Identifier: BSD-3-Clause
// A Hugging Face model folder read as one set of tensors, be it one file or
// shards with an index.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/checkpoint/safetensors.h"

namespace titan::checkpoint {

/// The metadata that tells `titan convert --to titan-weights`'s files from
/// Hugging Face's, whose names they do not have.
inline constexpr std::pair<const char*, const char*> kTitanNames = {"names",
                                                                    "titan"};

/// Opens the first of model.safetensors, model.safetensors.index.json,
/// diffusion_pytorch_model.safetensors and its index; or the one file that
/// `path` names. The index decides which shard a tensor comes from; files it
/// does not name are ignored, and so is its total_size. Throws UserError for a
/// missing shard (all are listed), a tensor absent from its shard, or a shard
/// name that leaves the folder.
class SafetensorsFolder {
 public:
  explicit SafetensorsFolder(const std::filesystem::path& path);

  /// By file, then in the order of their bytes. Pointers live as long as this.
  const std::vector<const TensorView*>& tensors() const { return tensors_; }
  const std::vector<SafetensorsFile>& files() const { return files_; }
  /// Whether the names are those of our modules: kTitanNames in its metadata.
  bool has_titan_names() const;
  /// Null when absent; follows aliases as SafetensorsFile::find does.
  const TensorView* find(std::string_view name) const;
  /// find() that throws UserError when absent.
  const TensorView& get(std::string_view name) const;

 private:
  void open_single(const std::filesystem::path& file);
  void open_index(const std::filesystem::path& index);
  void add(const TensorView& view);

  std::filesystem::path path_;
  std::vector<SafetensorsFile> files_;
  std::vector<const TensorView*> tensors_;
  std::unordered_map<std::string_view, const TensorView*> by_name_;
};

/// Whether `name` is a file name without a folder part: what an index or a
/// manifest may refer to.
bool is_plain_file_name(std::string_view name);

}  // namespace titan::checkpoint
