// SPDX-License-Identifier: BSD-3-Clause
// From step reports to metric records: throughput, utilisation, memory, and the
// sinks that the recipe names. Rank 0 only.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <c10/core/ScalarType.h>

#include "core/checkpoint/checkpoint_saver.h"
#include "core/observe/flops.h"
#include "core/observe/metrics.h"
#include "core/train/run_settings.h"
#include "core/train/step.h"

namespace titan::train {

class MetricsLog {
 public:
  /// `print_line` (may be empty) receives a JSON line per logged step.
  MetricsLog(const RunSettings& settings,
             const Training& training,
             std::function<void(const std::string&)> print_line);

  /// Logs how long the process took to come here; the next record has it as
  /// first_step_start_s.
  void start_first_step();
  void add_step(const StepReport& report);
  void add_validation(int64_t step, double loss);
  /// A save that has ended; training is at `step` by now.
  void add_checkpoint(int64_t step, const checkpoint::SaveOutcome& outcome);
  /// Time that is not training: validation, checkpoints.
  void exclude(std::chrono::steady_clock::duration pause);
  void flush() { sinks_.flush(); }

 private:
  // Measured when first needed, after a step: 0.2 s that nobody waits for at
  // the start.
  double peak_flops_per_second();

  MetricSinks sinks_;
  ThroughputMeter meter_;
  int64_t interval_ = 1;
  int64_t num_steps_ = 0;
  double flops_per_token_ = 0;
  std::optional<double> peak_flops_per_second_;
  std::optional<double> seconds_before_first_step_;
  at::ScalarType compute_dtype_ = at::kFloat;
  std::function<void(const std::string&)> print_line_;
};

/// FLOP/s of the machine at matrix products in the compute dtype: measured.
double measured_peak_flops(at::ScalarType dtype);

}  // namespace titan::train
