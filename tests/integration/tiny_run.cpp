// SPDX-License-Identifier: BSD-3-Clause
#include "tests/integration/tiny_run.h"

#include <sstream>

#include <nlohmann/json.hpp>

#include "core/checkpoint/checkpoint_folder.h"

namespace titan::integration {
namespace {

namespace fs = std::filesystem;

// A checkpoint of it is 0.4 MB; a step takes 5 ms.
constexpr const char* kRecipe = R"(
run_folder: "${recipe_dir}/run"
model:
  use: titan.llama3
  config: {dim: 32, num_layers: 2, num_heads: 4, num_kv_heads: 2,
           hidden_dim: 64, vocab_size: 256}
data: {files: ["${recipe_dir}/text.txt"]}
training: {steps: 12, seq_len: 16, tokens_per_microbatch: 32, threads: 1,
           seed: 7}
optimizer:
  use: titan.adamw
  config: {lr: 3e-3, betas: [0.9, 0.95], weight_decay: 0.1}
schedule: {warmup_steps: 3, decay: cosine, min_factor: 0.1}
checkpoint: {enabled: true, interval: 4, keep: 0}
metrics: {interval: 1}
)";

// About 20 kB in which no two lines are the same.
std::string page_of_text() {
  std::string page;
  for (int line = 0; line < 400; ++line)
    page += "Line " + std::to_string(line) + " says that " +
            std::to_string(line * line % 97) + " birds sang at noon.\n";
  return page;
}

// Twenty documents of about 35 bytes.
std::string lines_of_json() {
  std::string lines;
  for (int line = 0; line < 20; ++line)
    lines += "{\"text\": \"Document " + std::to_string(line * line) +
             " is about number " + std::to_string(line) + ".\"}\n";
  return lines;
}

}  // namespace

TinyRun::TinyRun(const fs::path& parent)
    : scratch_(parent), recipe_(scratch_.path() / "tiny.yaml") {
  put_file(recipe_, kRecipe);
  put_file(folder() / "text.txt", page_of_text());
  put_file(folder() / "lines.jsonl", lines_of_json());
}

fs::path TinyRun::checkpoint(std::int64_t step) const {
  return checkpoints() / checkpoint::step_folder_name(step);
}

std::vector<std::string> TinyRun::words(
    const Settings& settings,
    const std::vector<std::string>& options) const {
  std::vector<std::string> all = {"train", recipe_.string()};
  for (const std::string& setting : settings) {
    all.emplace_back("--set");
    all.push_back(setting);
  }
  all.insert(all.end(), options.begin(), options.end());
  return all;
}

Finished TinyRun::train(const Settings& settings,
                        const std::vector<std::string>& options) const {
  return run_titan_process(words(settings, options));
}

void TinyRun::cut_after(std::int64_t step) const {
  for (const std::int64_t later : steps_in(checkpoints()))
    if (later > step) fs::remove_all(checkpoint(later));
  fs::remove(run() / "result.json");
  fs::remove_all(run() / "hf");
}

std::map<std::string, std::string> state_files(const fs::path& checkpoint) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(checkpoint))
    if (entry.path().extension() == ".safetensors")
      files[entry.path().filename().string()] = get_file(entry.path());
  files["trainer"] =
      checkpoint::CheckpointReader(checkpoint).manifest().state.trainer;
  return files;
}

std::vector<std::int64_t> steps_in(const fs::path& folder) {
  std::vector<std::int64_t> steps;
  for (const auto& entry :
       checkpoint::list_checkpoints(checkpoint::real_file_system(), folder))
    steps.push_back(entry.step);
  return steps;
}

std::map<std::int64_t, std::string> step_losses(const fs::path& run) {
  std::map<std::int64_t, std::string> losses;
  std::istringstream lines(get_file(run / "metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const auto values = nlohmann::json::parse(line);
    for (const char* key :
         {"loss", "grad_norm", "lr", "tokens", "targets", "validation_loss"})
      if (values.contains(key))
        losses[values.at("step").get<std::int64_t>()] +=
            std::string(key) + "=" + values.at(key).dump() + " ";
  }
  return losses;
}

const Settings& exporting() {
  static const Settings settings = {"data.tokenizer=" + kTokenizer,
                                    "model.config.vocab_size=2048",
                                    "data.validation_fraction=0.1",
                                    "validation.at_end=true",
                                    "checkpoint.export_hf=true"};
  return settings;
}

std::string validation_loss(const Finished& run) {
  const size_t found = run.out.find("val_loss=");
  return found == std::string::npos ? "" : run.out.substr(found);
}

std::string line_with(const std::string& text, std::string_view start) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(start)) return line;
  return "";
}

}  // namespace titan::integration
