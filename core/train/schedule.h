// SPDX-License-Identifier: BSD-3-Clause
// Learning-rate factor: warmup, stable, decay by TorchTitan's rule;
// vectors: schedule_test.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace titan::train {

enum class Decay { kNone, kLinear, kSqrt, kCosine };

struct Schedule {
  int64_t total_steps = 0;
  int64_t warmup_steps = 0;
  int64_t decay_steps = 0;
  Decay decay = Decay::kLinear;
  double min_factor = 0.0;

  /// Factor of the base rate for the 0-based step; in (0, 1] for every step of
  /// the run unless min_factor is 0 and the step lies beyond total_steps.
  double factor(int64_t step) const;
};

struct ScheduleOptions {
  int64_t total_steps = 0;
  int64_t warmup_steps = 0;
  int64_t decay_steps = -1;  // -1: from decay_ratio, else all after warmup
  double decay_ratio = -1.0;
  std::string decay = "linear";
  double min_factor = 0.0;
};

/// Clips what overlaps and says so in `warnings` with the numbers used.
/// UserError for values outside their range.
Schedule make_schedule(const ScheduleOptions& options,
                       std::vector<std::string>& warnings);

}  // namespace titan::train
