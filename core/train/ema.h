// SPDX-License-Identifier: BSD-3-Clause
// A running average of the weights (Polyak and Juditsky 1992, exponential
// form):
//   average += (1 - decay) * (weights - average)
// in acc(parameter dtype), of each rank's own part, so that it costs no
// communication under any layout. Saved under the role "ema" (run_saver.h).
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/parallel/engine.h"

namespace titan::train {

struct EmaOptions {
  double decay = 0.999;
  int64_t start = 0;  // up to this step the average is the weights
  int64_t every = 1;  // steps between updates after it
};

/// The averages of one rank. Frozen parameters have none: it would be them.
class Ema {
 public:
  /// `engine` outlives it. Values are undefined until reset() or a restore.
  Ema(parallel::ParameterEngine& engine, const EmaOptions& options);

  /// The averages become the weights as they are.
  void reset();
  /// After the update of step `step` (1-based).
  void update(int64_t step);

  /// Master-shaped, of the engine's part `i`; undefined for a frozen one.
  at::Tensor value(size_t i) const { return values_[i]; }
  int64_t bytes() const;

  /// Exchanges weights and averages, bit for bit; twice is nothing.
  void exchange();

 private:
  parallel::ParameterEngine& engine_;
  EmaOptions options_;
  std::vector<at::Tensor> values_;
};

/// While it lives, the model computes with the averages. Null: nothing.
class AveragedWeights {
 public:
  explicit AveragedWeights(Ema* ema) : ema_(ema) {
    if (ema_ != nullptr) ema_->exchange();
  }
  ~AveragedWeights() {
    if (ema_ != nullptr) ema_->exchange();
  }
  AveragedWeights(const AveragedWeights&) = delete;
  AveragedWeights& operator=(const AveragedWeights&) = delete;

 private:
  Ema* ema_;
};

}  // namespace titan::train
