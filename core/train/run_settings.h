// SPDX-License-Identifier: BSD-3-Clause
// What a recipe says of the run around the step, read once at the start, so
// that a key which nobody reads is found before any work.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/config/recipe.h"
#include "core/generate/sampling.h"
#include "core/observe/profiler.h"
#include "core/train/run_saver.h"

namespace titan::train {

struct RunSettings {
  std::string name;
  std::string description;
  std::filesystem::path folder;
  std::string tokenizer;  // folder, or "bytes"
  int64_t num_steps = 0;
  uint64_t seed = 0;

  std::optional<int64_t> validation_interval;
  int64_t validation_batches = -1;  // per rank; -1 = the whole split
  bool validates_at_end = false;

  bool saves_checkpoints = false;
  bool resumes = true;
  std::filesystem::path checkpoint_folder;
  std::string storage = "file";  // or the id of a storage plugin
  config::Value storage_config;
  int64_t checkpoint_interval = 0;
  int64_t checkpoints_kept = 0;        // newest; 0 = all
  int64_t checkpoints_kept_every = 0;  // also multiples of this step; 0 = none
  bool saves_in_background = false;
  bool saves_at_start = false;  // step 0
  SaveContent checkpoint_content = SaveContent::kFull;
  std::optional<at::ScalarType> weights_dtype;  // of model saves and exports
  std::optional<std::string> initial_weights;
  bool initial_is_strict = true;
  bool exports_hf = false;
  std::optional<std::string> initial_adapter;  // folder
  bool exports_adapter = false;
  bool validates_ema = false;  // with the averaged weights
  bool exports_ema = false;

  int64_t metrics_interval = 1;
  bool writes_jsonl = true;
  bool writes_tensorboard = false;
  bool records_spans = false;
  std::optional<double> peak_tflops;
  ProfilerOptions profiler;

  bool samples_at_end = false;
  std::string prompt;
  generate::SamplingOptions sampling;
};

RunSettings read_run_settings(const config::Recipe& recipe);

}  // namespace titan::train
