// SPDX-License-Identifier: BSD-3-Clause
// From step reports to metric records: throughput, utilisation, memory, and the
// sinks that the recipe names. Rank 0 only.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

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

  void add_step(const StepReport& report);
  void add_validation(int64_t step, double loss);
  /// Time that is not training: validation, checkpoints.
  void exclude(std::chrono::steady_clock::duration pause);
  void flush() { sinks_.flush(); }

 private:
  MetricSinks sinks_;
  ThroughputMeter meter_;
  int64_t interval_ = 1;
  int64_t num_steps_ = 0;
  double flops_per_token_ = 0;
  double peak_flops_per_second_ = 0;
  std::function<void(const std::string&)> print_line_;
};

/// FLOP/s of the machine at matrix products in the compute dtype: measured.
double measured_peak_flops(at::ScalarType dtype);

}  // namespace titan::train
