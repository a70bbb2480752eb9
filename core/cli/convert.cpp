// SPDX-License-Identifier: BSD-3-Clause
// `titan convert`: weights between Hugging Face folders, Titan checkpoints,
// files of torch.save and folders of torch.distributed.checkpoint. Tensors
// stream from mapped files to the written ones.
#include <array>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>
#include <unistd.h>  // isatty

#include <titan/error.h>

#include "core/checkpoint/block_scaled.h"
#include "core/checkpoint/cast.h"
#include "core/checkpoint/checkpoint_folder.h"
#include "core/checkpoint/dcp_folder.h"
#include "core/checkpoint/export.h"
#include "core/checkpoint/torch_file.h"
#include "core/cli/commands.h"
#include "core/cli/session_options.h"
#include "core/train/convert_keys.h"
#include "core/train/open_model.h"

namespace titan::cli {
namespace {

namespace ckpt = titan::checkpoint;
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using train::Sources;

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

struct ConvertOptions {
  std::string input;
  std::string output;
  std::string from;
  std::string to;
  std::string dtype;
  std::string key;
  std::string config_folder;
  std::uint64_t shard_bytes = 5'000'000'000;
  bool is_json = false;
  train::SessionOptions session;
};

// The checkpoint that `path` is, or the newest good one in it.
fs::path find_checkpoint(const fs::path& path) {
  if (fs::exists(path / ckpt::kManifestName)) return path;
  const auto latest = ckpt::latest_checkpoint(ckpt::real_file_system(), path);
  TITAN_USER_CHECK(latest.rejected.empty() || latest.reader,
                   latest.rejected.front());
  return latest.reader ? latest.reader->path() : fs::path();
}

std::string detect_kind(const fs::path& path) {
  TITAN_USER_CHECK(fs::exists(path),
                   "[convert ",
                   path.string(),
                   "] expected a file or folder, got none");
  if (!fs::is_directory(path))
    return path.extension() == ".safetensors" ? "hf" : "torch";
  if (fs::exists(path / ".metadata")) return "dcp";
  if (!find_checkpoint(path).empty()) return "titan";
  return fs::exists(path / "pytorch_model.bin") ? "torch" : "hf";
}

Sources open_sources(const ConvertOptions& options) {
  const fs::path path = options.input;
  if (options.from == "dcp") return ckpt::dcp_sources(path);
  if (options.from == "torch")
    return ckpt::torch_sources(
        fs::is_directory(path) ? path / "pytorch_model.bin" : path,
        options.key);
  if (options.from == "titan") {
    const fs::path found = find_checkpoint(path);
    if (!found.empty()) return ckpt::checkpoint_sources(found);
  }
  return ckpt::safetensors_sources(path);
}

// Where config.json and the tokenizer come from.
fs::path config_folder(const ConvertOptions& options) {
  if (!options.config_folder.empty()) return options.config_folder;
  const fs::path path = options.input;
  return fs::is_directory(path) ? path : ckpt::parent_folder(path);
}

std::string read_if_there(const fs::path& path) {
  return fs::exists(path) ? ckpt::read_text(ckpt::real_file_system(), path)
                          : std::string();
}

struct OpenedModel {
  std::unique_ptr<train::PluginHost> host;
  std::unique_ptr<module::Model> model;
};

OpenedModel open_model(const ConvertOptions& options) {
  plugin::SearchOptions search;
  search.files = options.session.plugin_files;
  search.folders = options.session.plugin_folders;
  OpenedModel opened;
  opened.host = std::make_unique<train::PluginHost>(search);
  const fs::path checkpoint =
      options.from == "titan" ? find_checkpoint(options.input) : fs::path();
  opened.model =
      checkpoint.empty()
          ? train::make_model_from_hf(*opened.host, config_folder(options))
          : train::make_model_from_checkpoint(
                *opened.host, ckpt::CheckpointReader(checkpoint));
  return opened;
}

ckpt::Dtype dtype_of(const std::string& name) {
  if (name == "fp32") return ckpt::Dtype::kF32;
  return name == "fp16" ? ckpt::Dtype::kF16 : ckpt::Dtype::kBf16;
}

// config.json that says what the weights now are.
std::string adapt_config(const std::string& config, const std::string& dtype) {
  if (config.empty() || dtype.empty()) return config;
  Json json = Json::parse(config, nullptr, false);
  TITAN_USER_CHECK(json.is_object(),
                   "[convert] config.json: expected an object, got other text");
  const char* const name = dtype == "fp32"   ? "float32"
                           : dtype == "fp16" ? "float16"
                                             : "bfloat16";
  json[json.contains("dtype") ? "dtype" : "torch_dtype"] = name;
  json.erase("quantization_config");  // the weights are plain now
  return json.dump(2) + '\n';
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

void write_folder(const ConvertOptions& options,
                  const module::Model* model,
                  Sources tensors) {
  const fs::path folder = config_folder(options);
  ckpt::HfFolder content;
  std::string config = read_if_there(folder / "config.json");
  if (config.empty() && model != nullptr) config = model->config_to_hf();
  content.config_json = adapt_config(config, options.dtype);
  content.generation_config_json =
      read_if_there(folder / "generation_config.json");
  for (const char* const name : kTokenizerFiles)
    if (fs::exists(folder / name))
      content.other_files[name] = read_if_there(folder / name);
  content.tensors = std::move(tensors);
  content.max_shard_bytes = static_cast<std::int64_t>(options.shard_bytes);
  ckpt::write_hf_folder(ckpt::real_file_system(), options.output, content);
}

void write_torch(const ConvertOptions& options, const Sources& tensors) {
  TITAN_USER_CHECK(!fs::exists(options.output),
                   "[convert ",
                   options.output,
                   "] expected a path that does not exist, got a file or "
                   "folder. Remove it or choose another.");
  ckpt::write_torch_file(ckpt::real_file_system(), options.output, tensors);
}

void report(const ConvertOptions& options, const Sources& tensors) {
  std::int64_t size_bytes = 0;
  for (const ckpt::TensorSource& tensor : tensors)
    size_bytes += ckpt::spec_size_bytes(tensor.spec);
  if (options.is_json)
    std::cout << Json{{"from", options.from},
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

void convert(ConvertOptions options) {
  if (options.from.empty()) options.from = detect_kind(options.input);
  Sources tensors = open_sources(options);
  TITAN_USER_CHECK(!tensors.empty(),
                   "[convert ",
                   options.input,
                   "] expected tensors, got none");
  const bool becomes_native =
      options.to == "titan-weights" && options.from != "titan";
  const bool becomes_hf = options.to == "hf" && options.from == "titan";
  OpenedModel opened;
  if (becomes_native || becomes_hf) opened = open_model(options);
  if (options.dtype.empty() && becomes_native)
    tensors = ckpt::decode_block_scaled(std::move(tensors), ckpt::Dtype::kBf16);
  if (!options.dtype.empty()) {
    const ckpt::Dtype dtype = dtype_of(options.dtype);
    tensors = ckpt::cast_floats(
        ckpt::decode_block_scaled(std::move(tensors), dtype), dtype);
  }
  if (becomes_native) tensors = train::native_from_hf(*opened.model, tensors);
  if (becomes_hf) tensors = train::hf_from_native(*opened.model, tensors);
  tensors = with_progress(std::move(tensors));
  if (options.to == "torch")
    write_torch(options, tensors);
  else
    write_folder(options, opened.model.get(), tensors);
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
                   "checkpoint, a file of torch.save, or a folder of "
                   "torch.distributed.checkpoint")
      ->required();
  command->add_option("OUT", options->output, "What to write; must not exist")
      ->required();
  command->add_option("--from", options->from, "What IN is; found if not given")
      ->one_of({"hf", "titan", "torch", "dcp"});
  command->add_option("--to", options->to, "What to write")
      ->one_of({"hf", "titan-weights", "torch"})
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
  command->callback([options, &exit_code] {
    convert(*options);
    exit_code = 0;
  });
}

}  // namespace titan::cli
