// SPDX-License-Identifier: BSD-3-Clause
// `titan convert`: weights between Hugging Face folders, Titan checkpoints,
// files of torch.save and folders of torch.distributed.checkpoint. Tensors
// stream from mapped files to the written ones.
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>
#include <unistd.h>  // isatty

#include <titan/error.h>

#include "core/checkpoint/block_scaled.h"
#include "core/checkpoint/cast.h"
#include "core/checkpoint/checkpoint_folder.h"
#include "core/checkpoint/dcp_folder.h"
#include "core/checkpoint/safetensors_folder.h"
#include "core/checkpoint/torch_file.h"
#include "core/cli/commands.h"
#include "core/cli/convert_target.h"
#include "core/cli/session_options.h"
#include "core/train/convert_keys.h"
#include "core/train/open_model.h"

namespace titan::cli {
namespace {

namespace ckpt = titan::checkpoint;
namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;
using train::Sources;

struct ConvertOptions {
  std::string input;
  std::string output;
  std::string from;
  std::string to;
  std::string dtype;
  std::string key;
  std::string config_folder;
  std::uint64_t shard_bytes = 5'000'000'000;
  bool has_shard_size = false;
  bool is_json = false;
  train::SessionOptions session;
};

// The checkpoint that `path` is, or the newest good one in it; none: it is
// something else.
std::optional<ckpt::CheckpointReader> find_checkpoint(const fs::path& path) {
  auto found = ckpt::find_checkpoint(ckpt::real_file_system(), path);
  TITAN_USER_CHECK(found.rejected.empty() || found.reader,
                   found.rejected.front());
  return std::move(found.reader);
}

bool has_titan_names(const fs::path& path) {
  const bool is_single = !fs::is_directory(path);
  const bool has_weights = is_single ||
                           fs::exists(path / "model.safetensors") ||
                           fs::exists(path / "model.safetensors.index.json");
  return has_weights && ckpt::SafetensorsFolder(path).has_titan_names();
}

std::string detect_kind(const fs::path& path) {
  TITAN_USER_CHECK(fs::exists(path),
                   "[convert ",
                   path.string(),
                   "] expected a file or folder, got none");
  if (!fs::is_directory(path)) {
    if (path.extension() != ".safetensors") return "torch";
  } else {
    if (fs::exists(path / ".metadata")) return "dcp";
    if (find_checkpoint(path)) return "titan";
    if (fs::exists(path / "pytorch_model.bin")) return "torch";
  }
  return has_titan_names(path) ? "titan" : "hf";
}

Sources open_sources(const ConvertOptions& options) {
  const fs::path path = options.input;
  if (options.from == "dcp") return ckpt::dcp_sources(path);
  if (options.from == "torch")
    return ckpt::torch_sources(
        fs::is_directory(path) ? path / "pytorch_model.bin" : path,
        options.key);
  if (options.from == "titan")
    if (const auto found = find_checkpoint(path))
      return ckpt::checkpoint_sources(found->path());
  return ckpt::safetensors_sources(path);
}

// Of a checkpoint of ours; in folders they lie among the weights.
Sources open_buffers(const ConvertOptions& options) {
  if (options.from == "titan")
    if (const auto found = find_checkpoint(options.input))
      return ckpt::checkpoint_sources(found->path(), "buffer");
  return {};
}

// The model of the weights: of the checkpoint's recipe, or of config.json.
void open_model(const ConvertOptions& options, ConvertTarget& target) {
  plugin::SearchOptions search;
  search.files = options.session.plugin_files;
  search.folders = options.session.plugin_folders;
  target.host = std::make_unique<train::PluginHost>(search);
  std::optional<ckpt::CheckpointReader> checkpoint;
  if (options.from == "titan") checkpoint = find_checkpoint(options.input);
  if (checkpoint) {
    target.model = train::make_model_from_checkpoint(*target.host, *checkpoint);
    target.recipe = checkpoint->manifest().state.recipe;
  } else {
    target.model =
        train::make_model_from_hf(*target.host, target.config_folder);
  }
}

ckpt::Dtype dtype_of(const std::string& name) {
  if (name == "fp32") return ckpt::Dtype::kF32;
  return name == "fp16" ? ckpt::Dtype::kF16 : ckpt::Dtype::kBf16;
}

// Counts tensors on the terminal while they are written.
Sources with_progress(Sources tensors) {
  if (::isatty(STDERR_FILENO) == 0) return tensors;
  const std::size_t total = tensors.size();
  const auto done = std::make_shared<std::size_t>(0);
  for (ckpt::TensorSource& tensor : tensors)
    tensor.bytes = [total, done, bytes = std::move(tensor.bytes)](
                       const ckpt::ByteSink& sink) {
      bytes(sink);
      std::cerr << text("\r", ++*done, " of ", total, " tensors")
                << (*done == total ? "\n" : "") << std::flush;
    };
  return tensors;
}

ConvertTarget target_of(const ConvertOptions& options) {
  ConvertTarget target;
  target.output = options.output;
  const fs::path input = options.input;
  target.config_folder = !options.config_folder.empty()
                             ? fs::path(options.config_folder)
                         : fs::is_directory(input) ? input
                                                   : ckpt::parent_folder(input);
  target.plugin_files = options.session.plugin_files;
  target.max_shard_bytes = static_cast<std::int64_t>(options.shard_bytes);
  if (!options.dtype.empty()) target.dtype = dtype_of(options.dtype);
  return target;
}

void report(const ConvertOptions& options, const Sources& tensors) {
  std::int64_t size_bytes = 0;
  for (const ckpt::TensorSource& tensor : tensors)
    size_bytes += ckpt::spec_size_bytes(tensor.spec);
  if (options.is_json)
    std::cout << OrderedJson{{"from", options.from},
                             {"to", options.to},
                             {"output", options.output},
                             {"tensors", tensors.size()},
                             {"bytes", size_bytes}}
                     .dump()
              << '\n';
  else
    std::cout << text(options.output,
                      ": ",
                      tensors.size(),
                      " tensors, ",
                      size_bytes,
                      " bytes, ",
                      options.from,
                      " to ",
                      options.to,
                      '\n');
}

// What would do nothing is refused.
void require_used(const ConvertOptions& options, bool needs_model) {
  TITAN_USER_CHECK(options.key.empty() || options.from == "torch",
                   "[convert --key] expected IN to be a torch file, got ",
                   options.from);
  const bool is_folder = options.to == "hf" || options.to == "titan-weights";
  TITAN_USER_CHECK(!options.has_shard_size || is_folder,
                   "[convert --shard-size] expected --to hf or titan-weights, "
                   "got --to ",
                   options.to);
  TITAN_USER_CHECK(needs_model || (options.session.plugin_files.empty() &&
                                   options.session.plugin_folders.empty()),
                   "[convert --plugin] expected a conversion that needs the "
                   "model's rules, got ",
                   options.from,
                   " to ",
                   options.to,
                   ", which does not");
}

void convert(ConvertOptions options) {
  if (options.from.empty()) options.from = detect_kind(options.input);
  Sources tensors = open_sources(options);
  TITAN_USER_CHECK(!tensors.empty(),
                   "[convert ",
                   options.input,
                   "] expected tensors, got none");
  const bool is_ours = options.from == "titan";
  const bool becomes_native = !is_ours && options.to.starts_with("titan");
  const bool becomes_hf = is_ours && options.to == "hf";
  ConvertTarget target = target_of(options);
  Sources stored_buffers = open_buffers(options);
  // To write config.json, or to know which buffers are more than statistics.
  const bool asks_model = options.to == "titan-weights" &&
                          (!stored_buffers.empty() ||
                           !fs::exists(target.config_folder / "config.json"));
  const bool needs_model =
      becomes_native || becomes_hf || options.to == "titan" || asks_model;
  require_used(options, needs_model);
  if (needs_model) open_model(options, target);
  Sources buffers;
  if (needs_model) {
    buffers = train::take_buffers(*target.model, tensors);
    Sources stored = train::take_buffers(*target.model, stored_buffers);
    std::move(stored.begin(), stored.end(), std::back_inserter(buffers));
  }
  if (becomes_hf) tensors = train::merge_adapters(*target.model, tensors);
  if (options.dtype.empty() && becomes_native)
    tensors = ckpt::decode_block_scaled(std::move(tensors), ckpt::Dtype::kBf16);
  if (target.dtype)
    tensors = ckpt::cast_floats(
        ckpt::decode_block_scaled(std::move(tensors), *target.dtype),
        *target.dtype);
  std::move(buffers.begin(), buffers.end(), std::back_inserter(tensors));
  if (becomes_native) tensors = train::native_from_hf(*target.model, tensors);
  if (becomes_hf) tensors = train::hf_from_native(*target.model, tensors);
  tensors = with_progress(std::move(tensors));
  if (options.to == "torch")
    write_torch(target, tensors);
  else if (options.to == "dcp")
    ckpt::write_dcp_folder(ckpt::real_file_system(), target.output, tensors);
  else if (options.to == "titan")
    write_checkpoint(target, tensors);
  else
    write_folder(target, tensors, options.to == "titan-weights");
  report(options, tensors);
}

}  // namespace

void add_convert_command(Command& app, int& exit_code) {
  Command* const command = app.add_subcommand(
      "convert", "Converts weights between formats, streaming");
  const auto options = std::make_shared<ConvertOptions>();
  command
      ->add_option("IN",
                   options->input,
                   "A Hugging Face folder or .safetensors file, a Titan "
                   "checkpoint, titan-weights, a file of torch.save, or a "
                   "folder of torch.distributed.checkpoint")
      ->required();
  command->add_option("OUT", options->output, "What to write; must not exist")
      ->required();
  command->add_option("--from", options->from, "What IN is; found if not given")
      ->one_of({"hf", "titan", "torch", "dcp"});
  command->add_option("--to", options->to, "What to write")
      ->one_of({"hf", "titan", "titan-weights", "torch", "dcp"})
      ->required();
  command
      ->add_option("--dtype",
                   options->dtype,
                   "Type of the floating-point tensors; decodes fp8 and MXFP4")
      ->one_of({"bf16", "fp16", "fp32"});
  command
      ->add_option("--shard-size",
                   options->shard_bytes,
                   "Largest file of a folder, such as 5GB")
      ->as_bytes()
      ->positive();
  command->add_option(
      "--key", options->key, "Part of a torch file to take, such as model");
  command->add_option("--config",
                      options->config_folder,
                      "Folder with config.json and the tokenizer, where IN "
                      "has none");
  command->add_flag("--json", options->is_json, "Print one JSON object");
  add_plugin_options(*command, options->session);
  command->footer(
      "Example: titan convert runs/debug/checkpoint out --to hf --dtype bf16\n"
      "Example: titan convert model.pt out --to hf --key model --config llama");
  command->callback([options, command, &exit_code] {
    options->has_shard_size = command->count("--shard-size") > 0;
    convert(*options);
    exit_code = 0;
  });
}

}  // namespace titan::cli
