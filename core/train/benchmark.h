// SPDX-License-Identifier: BSD-3-Clause
// Steps of a recipe, timed: the numbers that other trainers' scripts print for
// the same weights and batches (DESIGN section 11).
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/train/session.h"

namespace titan::train {

struct BenchmarkOptions {
  int64_t steps = 8;   // timed
  int64_t warmup = 2;  // before them
  std::filesystem::path
      init;  // safetensors, TorchTitan's names; "" = the recipe's
  std::filesystem::path tokens;  // .npy int32 [steps, B, S+1]; "" = the data
};

struct BenchmarkResult {
  int64_t num_parameters = 0;
  int64_t tokens_per_step = 0;
  std::vector<double> ms_steps;  // timed ones
  std::vector<double> losses;    // of every step, warm-up included
  double first_step_s = 0;
  double startup_s = 0;  // process start to the end of the first step
  double peak_rss_mb = 0;

  double ms_median() const;
  double ms_min() const;
  double tokens_per_second() const;
};

/// One rank. UserError for files that do not fit the recipe.
BenchmarkResult benchmark_training(Session& session,
                                   const BenchmarkOptions& options);

}  // namespace titan::train
