// SPDX-License-Identifier: BSD-3-Clause
#include "core/train/run_settings.h"

#include <titan/error.h>

namespace titan::train {
namespace {

namespace fs = std::filesystem;

fs::path inside(const fs::path& folder, const std::string& path) {
  const fs::path given(path);
  return given.is_absolute() ? given : folder / given;
}

void read_checkpoint(const config::Recipe& recipe, RunSettings& settings) {
  settings.saves_checkpoints = recipe.boolean("checkpoint.enabled");
  settings.resumes = recipe.boolean("checkpoint.resume");
  settings.checkpoint_folder =
      inside(settings.folder, recipe.string("checkpoint.folder"));
  settings.storage = recipe.string("checkpoint.storage.use");
  settings.storage_config = recipe.value("checkpoint.storage.config");
  settings.checkpoint_interval = recipe.integer("checkpoint.interval");
  settings.checkpoints_kept = recipe.integer("checkpoint.keep");
  settings.checkpoints_kept_every = recipe.integer("checkpoint.keep_every");
  settings.saves_in_background = recipe.boolean("checkpoint.async");
  settings.saves_at_start = recipe.boolean("checkpoint.at_start");
  settings.initial_weights = recipe.optional_string("checkpoint.initial");
  settings.initial_is_strict = recipe.boolean("checkpoint.strict");
  settings.exports_hf = recipe.boolean("checkpoint.export_hf");
  const bool is_model_only = recipe.string("checkpoint.content") == "model";
  if (is_model_only) settings.checkpoint_content = SaveContent::kModel;
  const auto dtype = recipe.optional_string("checkpoint.dtype");
  if (!dtype) return;
  TITAN_USER_CHECK(
      is_model_only || settings.exports_hf || settings.exports_adapter,
      "[checkpoint.dtype] expected checkpoint.content: model or "
      "checkpoint.export_hf: true, which it is for, got neither. "
      "Full checkpoints keep the dtypes of the run.");
  settings.weights_dtype = *dtype == "bf16" ? at::kBFloat16 : at::kFloat;
}

// What happens with the adapters; what they are: assemble.cpp.
void read_adapter(const config::Recipe& recipe, RunSettings& settings) {
  if (!recipe.has("adapter.use")) return;
  settings.initial_adapter = recipe.optional_string("adapter.initial");
  settings.exports_adapter = recipe.boolean("adapter.export");
}

// What the averages are for; what they are: assemble.cpp.
void read_ema(const config::Recipe& recipe, RunSettings& settings) {
  if (!recipe.has("ema.decay")) return;
  settings.validates_ema = recipe.boolean("ema.validate");
  settings.exports_ema = recipe.boolean("ema.export");
  const bool has_validation =
      settings.validates_at_end || settings.validation_interval.has_value();
  if (settings.validates_ema && !has_validation)
    throw recipe.error_at("ema.validate",
                          "there is no validation: expected "
                          "validation.interval or validation.at_end, got "
                          "neither");
  if (settings.exports_ema && !settings.exports_hf && !settings.exports_adapter)
    throw recipe.error_at("ema.export",
                          "there is no export: expected "
                          "checkpoint.export_hf: true, got false");
}

void read_metrics(const config::Recipe& recipe, RunSettings& settings) {
  settings.metrics_interval = recipe.integer("metrics.interval");
  settings.writes_jsonl = recipe.boolean("metrics.jsonl");
  settings.writes_tensorboard = recipe.boolean("metrics.tensorboard");
  settings.records_spans = recipe.boolean("metrics.spans");
  settings.peak_tflops = recipe.optional_number("metrics.peak_tflops");
  const auto start = recipe.optional_integer("profiler.start_step");
  const int64_t steps = recipe.integer("profiler.steps");
  settings.profiler = {
      .start_step = start.value_or(0),
      .num_steps = start ? steps : 0,
      .folder = inside(settings.folder, recipe.string("profiler.folder"))};
}

void read_generate(const config::Recipe& recipe, RunSettings& settings) {
  settings.samples_at_end = recipe.boolean("generate.at_end");
  settings.prompt = recipe.string("generate.prompt");
  settings.sampling.max_tokens = recipe.integer("generate.max_tokens");
  settings.sampling.temperature = recipe.number("generate.temperature");
  settings.sampling.top_k =
      recipe.optional_integer("generate.top_k").value_or(0);
  settings.sampling.top_p =
      recipe.optional_number("generate.top_p").value_or(1.0);
  settings.sampling.seed = settings.seed;
}

}  // namespace

RunSettings read_run_settings(const config::Recipe& recipe) {
  RunSettings settings;
  settings.name = recipe.optional_string("name").value_or(
      fs::path(recipe.file()).stem().string());
  settings.description = recipe.optional_string("description").value_or("");
  settings.folder = recipe.string("run_folder");
  settings.tokenizer = recipe.string("data.tokenizer");
  settings.num_steps = recipe.integer("training.steps");
  settings.seed = static_cast<uint64_t>(recipe.integer("training.seed"));
  settings.validation_interval = recipe.optional_integer("validation.interval");
  settings.validation_batches =
      recipe.optional_integer("validation.batches").value_or(-1);
  settings.validates_at_end = recipe.boolean("validation.at_end");
  read_adapter(recipe, settings);
  read_checkpoint(recipe, settings);
  read_ema(recipe, settings);
  read_metrics(recipe, settings);
  read_generate(recipe, settings);
  return settings;
}

}  // namespace titan::train
