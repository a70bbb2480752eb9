// SPDX-License-Identifier: BSD-3-Clause
// Writes a model as a Hugging Face folder, which other programs load. Names
// and layouts of tensors are already theirs here: key rules belong to models.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/checkpoint/dtype.h"
#include "core/checkpoint/safetensors_writer.h"
#include "core/checkpoint/storage.h"

namespace titan::checkpoint {

struct HfFolder {
  std::string config_json;                         // empty: no such file
  std::string generation_config_json;              // empty: no such file
  std::map<std::string, std::string> other_files;  // name to content: tokenizer
  std::vector<TensorSource> tensors;
  std::string stem = "model";                    // of the weights' files
  std::int64_t max_shard_bytes = 5'000'000'000;  // Hugging Face's default
  bool has_titan_names = false;  // of our modules: said in every file
};

/// config.json with the type that the weights now have, plain whatever they
/// were before. UserError when it is no object.
std::string config_with_dtype(const std::string& config_json, Dtype dtype);

/// Takes generation_config.json and the tokenizer's files of another folder,
/// those that are there.
void copy_model_files(HfFolder& content, const std::filesystem::path& folder);

/// Writes config.json, the weights (one model.safetensors, or shards with an
/// index) and the rest into a hidden folder beside `path`, then renames it to
/// `path`, which must not exist (UserError). A tensor above the limit gets a
/// shard of its own. Every file carries the metadata format=pt that
/// transformers asks for.
void write_hf_folder(FileSystem& files,
                     const std::filesystem::path& path,
                     const HfFolder& content);

}  // namespace titan::checkpoint
