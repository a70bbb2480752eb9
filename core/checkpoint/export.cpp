// SPDX-License-Identifier: BSD-3-Clause
#include "core/checkpoint/export.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/checkpoint/safetensors_folder.h"

namespace titan::checkpoint {
namespace {

namespace fs = std::filesystem;

using Shard = std::vector<TensorSource>;

constexpr std::array kTokenizerFiles = {
    "tokenizer.json",
    "tokenizer_config.json",
    "tokenizer.model",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "chat_template.jinja",
    "preprocessor_config.json",
    "processor_config.json",
};

// As PyTorch spells it.
const char* torch_dtype_name(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF64:
      return "float64";
    case Dtype::kF16:
      return "float16";
    case Dtype::kBf16:
      return "bfloat16";
    default:
      return "float32";
  }
}

std::string read_if_there(const fs::path& path) {
  return fs::exists(path) ? read_text(real_file_system(), path) : std::string();
}

// Fills shards in the order given, as huggingface_hub does.
std::vector<Shard> split_into_shards(const std::vector<TensorSource>& tensors,
                                     std::int64_t max_shard_bytes) {
  std::vector<Shard> shards(1);
  std::int64_t shard_bytes = 0;
  for (const TensorSource& tensor : tensors) {
    const std::int64_t bytes = spec_size_bytes(tensor.spec);
    if (!shards.back().empty() && bytes > max_shard_bytes - shard_bytes) {
      shards.emplace_back();
      shard_bytes = 0;
    }
    shards.back().push_back(tensor);
    shard_bytes += bytes;
  }
  return shards;
}

// "model-00001-of-00002.safetensors", or "model.safetensors" when alone.
std::string shard_name(const std::string& stem,
                       std::size_t index,
                       std::size_t count) {
  if (count == 1) return stem + ".safetensors";
  const auto padded = [](std::size_t number) {
    std::string digits = text(number);
    if (digits.size() < 5) digits.insert(0, 5 - digits.size(), '0');
    return digits;
  };
  return text(
      stem, '-', padded(index + 1), "-of-", padded(count), ".safetensors");
}

void require_distinct_names(const fs::path& path,
                            const std::vector<TensorSource>& tensors) {
  std::set<std::string_view> names;
  for (const TensorSource& tensor : tensors)
    TITAN_USER_CHECK(names.insert(tensor.spec.name).second,
                     "[checkpoint ",
                     path.string(),
                     "] tensor names: expected each once, got \"",
                     tensor.spec.name,
                     "\" twice");
}

void write_weights(FileSystem& files,
                   const fs::path& folder,
                   const HfFolder& content) {
  const std::vector<Shard> shards =
      split_into_shards(content.tensors, content.max_shard_bytes);
  Metadata metadata = {{"format", "pt"}};
  if (content.has_titan_names) metadata.insert(kTitanNames);
  std::int64_t total_bytes = 0;
  auto weight_map = nlohmann::json::object();
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::string name = shard_name(content.stem, i, shards.size());
    write_safetensors(files, folder / name, shards[i], metadata);
    for (const TensorSource& tensor : shards[i]) {
      weight_map[tensor.spec.name] = name;
      total_bytes += spec_size_bytes(tensor.spec);
    }
  }
  if (shards.size() == 1) return;
  const nlohmann::json index = {{"metadata", {{"total_size", total_bytes}}},
                                {"weight_map", std::move(weight_map)}};
  write_file(files,
             folder / (content.stem + ".safetensors.index.json"),
             index.dump(2) + '\n');
}

void write_other_files(FileSystem& files,
                       const fs::path& folder,
                       const HfFolder& content) {
  if (!content.config_json.empty())
    write_file(files, folder / "config.json", content.config_json);
  if (!content.generation_config_json.empty())
    write_file(files,
               folder / "generation_config.json",
               content.generation_config_json);
  for (const auto& [name, text] : content.other_files) {
    TITAN_CHECK(is_plain_file_name(name),
                "[checkpoint] exported file: expected a name without a folder, "
                "got \"",
                name,
                '"');
    write_file(files, folder / name, text);
  }
}

}  // namespace

std::string config_with_dtype(const std::string& config_json, Dtype dtype) {
  using OrderedJson = nlohmann::ordered_json;
  OrderedJson json = OrderedJson::parse(config_json, nullptr, false);
  TITAN_USER_CHECK(json.is_object(),
                   "[checkpoint] config.json: expected an object, got other "
                   "text");
  // transformers 5 reads both, 4 only the second.
  json[json.contains("dtype") ? "dtype" : "torch_dtype"] =
      torch_dtype_name(dtype);
  json.erase("quantization_config");
  return json.dump(2) + '\n';
}

void copy_model_files(HfFolder& content, const fs::path& folder) {
  content.generation_config_json =
      read_if_there(folder / "generation_config.json");
  for (const char* const name : kTokenizerFiles)
    if (fs::exists(folder / name))
      content.other_files[name] = read_if_there(folder / name);
}

void write_hf_folder(FileSystem& files,
                     const fs::path& path,
                     const HfFolder& content) {
  TITAN_CHECK(content.max_shard_bytes > 0,
              "[checkpoint] max_shard_bytes: expected a positive number, got ",
              content.max_shard_bytes);
  require_distinct_names(path, content.tensors);
  write_folder_by_rename(files, path, [&](const fs::path& folder) {
    write_weights(files, folder, content);
    write_other_files(files, folder, content);
  });
}

}  // namespace titan::checkpoint
