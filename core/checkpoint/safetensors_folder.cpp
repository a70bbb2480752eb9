// SPDX-License-Identifier: BSD-3-Clause
#include "core/checkpoint/safetensors_folder.h"

#include <array>
#include <map>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/checkpoint/mapped_file.h"
#include "core/checkpoint/strict_json.h"

namespace titan::checkpoint {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::array kStems = {"model", "diffusion_pytorch_model"};
constexpr int kIndexDepth = 8;  // metadata may hold anything

// Tensor name to shard, as the index says.
std::map<std::string, std::string> read_weight_map(const fs::path& index) {
  const std::string where = text("checkpoint ", index.string());
  const MappedFile file(index);
  require_strict_json(where, file.text(), kIndexDepth);
  const Json json = Json::parse(file.text());
  TITAN_USER_CHECK(json.is_object() && json.contains("weight_map") &&
                       json["weight_map"].is_object(),
                   '[',
                   where,
                   "] weight_map: expected an object, got none");
  std::map<std::string, std::string> shards;
  for (const auto& [name, shard] : json["weight_map"].items()) {
    TITAN_USER_CHECK(
        shard.is_string() && is_plain_file_name(shard.get<std::string>()),
        '[',
        where,
        "] shard of \"",
        name,
        "\": expected a file name without a folder, got ",
        shard.is_string() ? shard.get<std::string>() : shard.type_name());
    shards[name] = shard.get<std::string>();
  }
  return shards;
}

fs::path find_weights(const fs::path& path) {
  if (fs::is_regular_file(path)) return path;
  for (const std::string stem : kStems)
    for (const char* ending : {".safetensors", ".safetensors.index.json"})
      if (fs::exists(path / (stem + ending))) return path / (stem + ending);
  throw UserError(text("[checkpoint ",
                       path.string(),
                       "] weights: expected model.safetensors, "
                       "model.safetensors.index.json or "
                       "diffusion_pytorch_model.safetensors, got ",
                       fs::is_directory(path) ? "none of them" : "no folder"));
}

}  // namespace

bool is_plain_file_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

SafetensorsFolder::SafetensorsFolder(const fs::path& path) : path_(path) {
  const fs::path weights = find_weights(path);
  if (weights.extension() == ".json")
    open_index(weights);
  else
    open_single(weights);
}

void SafetensorsFolder::open_single(const fs::path& file) {
  files_.emplace_back(file);
  for (const TensorView& view : files_.back().tensors()) add(view);
}

void SafetensorsFolder::open_index(const fs::path& index) {
  const std::map<std::string, std::string> shard_of = read_weight_map(index);
  std::set<std::string> shards;
  for (const auto& [name, shard] : shard_of) shards.insert(shard);
  std::vector<std::string> missing;
  for (const std::string& shard : shards)
    if (!fs::exists(path_ / shard)) missing.push_back(shard);
  TITAN_USER_CHECK(missing.empty(),
                   "[checkpoint ",
                   index.string(),
                   "] shards: expected ",
                   shards.size(),
                   " files, got none for ",
                   missing);
  files_.reserve(shards.size());
  for (const std::string& shard : shards) {
    files_.emplace_back(path_ / shard);
    for (const TensorView& view : files_.back().tensors()) {
      const auto it = shard_of.find(view.name);
      if (it != shard_of.end() && it->second == shard) add(view);
    }
  }
  for (const auto& [name, shard] : shard_of)
    TITAN_USER_CHECK(by_name_.contains(name),
                     "[checkpoint ",
                     (path_ / shard).string(),
                     "] tensor is absent: expected \"",
                     name,
                     "\" as the index says, got a file without it");
}

void SafetensorsFolder::add(const TensorView& view) {
  tensors_.push_back(&view);
  by_name_[view.name] = &view;
}

bool SafetensorsFolder::has_titan_names() const {
  if (files_.empty()) return false;
  const auto& metadata = files_.front().metadata();
  const auto found = metadata.find(kTitanNames.first);
  return found != metadata.end() && found->second == kTitanNames.second;
}

const TensorView* SafetensorsFolder::find(std::string_view name) const {
  const auto it = by_name_.find(name);
  if (it != by_name_.end()) return it->second;
  for (const SafetensorsFile& file : files_) {
    const auto alias = file.metadata().find(std::string(name));
    if (alias == file.metadata().end()) continue;
    const auto target = by_name_.find(alias->second);
    if (target != by_name_.end()) return target->second;
  }
  return nullptr;
}

const TensorView& SafetensorsFolder::get(std::string_view name) const {
  const TensorView* const view = find(name);
  TITAN_USER_CHECK(view != nullptr,
                   "[checkpoint ",
                   path_.string(),
                   "] tensor is absent: expected \"",
                   name,
                   "\", got ",
                   tensors_.size(),
                   " others");
  return *view;
}

}  // namespace titan::checkpoint
