// SPDX-License-Identifier: BSD-3-Clause
#include "core/cli/convert_target.h"

#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/checkpoint/checkpoint_writer.h"
#include "core/checkpoint/export.h"
#include "core/checkpoint/torch_file.h"
#include "core/tokenizer/tokenizer.h"
#include "core/train/export_hf.h"

namespace titan::cli {
namespace {

namespace ckpt = titan::checkpoint;
namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

void require_absent(const fs::path& output) {
  TITAN_USER_CHECK(!fs::exists(output),
                   "[convert ",
                   output.string(),
                   "] expected a path that does not exist, got a file or "
                   "folder. Remove it or choose another.");
}

// The tokenizer that the run of a checkpoint had: a folder, "bytes", or none.
std::string tokenizer_of(const std::string& recipe) {
  const OrderedJson parsed = OrderedJson::parse(recipe, nullptr, false);
  const auto pointer = OrderedJson::json_pointer("/data/tokenizer");
  if (!parsed.is_object() || !parsed.contains(pointer)) return "";
  const OrderedJson& found = parsed[pointer];
  return found.is_string() ? found.get<std::string>() : "";
}

bool has_tokenizer(const fs::path& folder) {
  return fs::exists(folder / "tokenizer.json") ||
         fs::exists(folder / "tokenizer.model");
}

// As much of a recipe as it takes to open the model again (open_model.h).
std::string recipe_of(const ConvertTarget& target) {
  OrderedJson plugins = OrderedJson::array();
  for (const std::string& file : target.plugin_files)
    plugins.push_back({{"path", fs::absolute(file).string()}});
  const fs::path folder = fs::absolute(target.config_folder);
  return OrderedJson{
      {"model",
       {{"use", target.model->id()},
        {"config", OrderedJson::parse(target.model->config().to_json())}}},
      {"data",
       {{"tokenizer", has_tokenizer(folder) ? folder.string() : "bytes"}}},
      {"precision", {{"use", "fp32"}}},
      {"plugins",
       {{"search", OrderedJson::array()},
        {"load", std::move(plugins)},
        {"policy", "dev"}}}}
      .dump();
}

// What restore_run() looks for before it finds that there is no optimizer.
constexpr const char* kTrainer =
    R"({"step":0,"tokens_seen":0,"skipped_steps":0,)"
    R"("steps_without_targets":0,"last_loss":null})";

}  // namespace

void write_folder(const ConvertTarget& target,
                  train::Sources tensors,
                  bool has_titan_names) {
  ckpt::HfFolder content;
  content.has_titan_names = has_titan_names;
  content.max_shard_bytes = target.max_shard_bytes;
  ckpt::copy_model_files(content, target.config_folder);
  const fs::path config = target.config_folder / "config.json";
  if (fs::exists(config))
    content.config_json = ckpt::read_text(ckpt::real_file_system(), config);
  else if (target.model)
    content.config_json = ckpt::config_with_dtype(target.model->config_to_hf(),
                                                  tensors.front().spec.dtype);
  if (!content.config_json.empty() && target.dtype)
    content.config_json =
        ckpt::config_with_dtype(content.config_json, *target.dtype);
  const std::string tokenizer = tokenizer_of(target.recipe);
  if (fs::is_directory(tokenizer) && content.other_files.empty())
    train::add_tokenizer(content, tokenizer, *load_tokenizer(tokenizer));
  content.tensors = std::move(tensors);
  ckpt::write_hf_folder(ckpt::real_file_system(), target.output, content);
}

void write_torch(const ConvertTarget& target, const train::Sources& tensors) {
  require_absent(target.output);
  ckpt::write_torch_file(ckpt::real_file_system(), target.output, tensors);
}

void write_checkpoint(const ConvertTarget& target, train::Sources tensors) {
  require_absent(target.output);
  ckpt::CheckpointWriter writer(ckpt::real_file_system(), {target.output, 0});
  const std::set<std::string> buffers =
      train::persistent_buffers(*target.model);
  std::set<std::string> names;
  for (ckpt::TensorSource& tensor : tensors) {
    names.insert(tensor.spec.name);
    const bool is_buffer = buffers.contains(tensor.spec.name);
    writer.add_tensor(is_buffer ? "buffer" : "model", std::move(tensor));
  }
  // What the source does not know: Hugging Face's have no statistics.
  for (ckpt::TensorSource& tensor : train::first_buffers(*target.model))
    if (!names.contains(tensor.spec.name))
      writer.add_tensor("buffer", std::move(tensor));
  writer.commit(
      {.trainer = kTrainer,
       .recipe = target.recipe.empty() ? recipe_of(target) : target.recipe});
}

}  // namespace titan::cli
