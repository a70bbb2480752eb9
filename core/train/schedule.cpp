// SPDX-License-Identifier: BSD-3-Clause
#include "core/train/schedule.h"

#include <cmath>

#include <titan/error.h>

namespace titan::train {
namespace {

constexpr double kPi = 3.14159265358979323846;

Decay decay_of(const std::string& name) {
  if (name == "none") return Decay::kNone;
  if (name == "linear") return Decay::kLinear;
  if (name == "sqrt") return Decay::kSqrt;
  if (name == "cosine") return Decay::kCosine;
  throw UserError(
      text("[schedule.decay] expected none, linear, sqrt or cosine, got '",
           name,
           "'"));
}

double decayed(Decay decay, double progress) {
  switch (decay) {
    case Decay::kNone:
      return 1.0;
    case Decay::kLinear:
      return 1.0 - progress;
    case Decay::kSqrt:
      return 1.0 - std::sqrt(progress);
    case Decay::kCosine:
      return 0.5 * (1.0 + std::cos(kPi * progress));
  }
  return 1.0;
}

}  // namespace

double Schedule::factor(int64_t step) const {
  if (step < warmup_steps)
    return static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
  if (decay == Decay::kNone || decay_steps == 0) return 1.0;
  // The virtual extra step keeps the rate of the last real one above zero.
  const int64_t stable_end = total_steps + 1 - decay_steps;
  if (step < stable_end) return 1.0;
  const double progress = std::fmin(1.0,
                                    static_cast<double>(step + 1 - stable_end) /
                                        static_cast<double>(decay_steps));
  return min_factor + (1.0 - min_factor) * decayed(decay, progress);
}

Schedule make_schedule(const ScheduleOptions& options,
                       std::vector<std::string>& warnings) {
  TITAN_USER_CHECK(options.total_steps >= 1,
                   "[training.steps] expected at least 1, got ",
                   options.total_steps);
  TITAN_USER_CHECK(options.warmup_steps >= 0,
                   "[schedule.warmup_steps] expected a non-negative number, "
                   "got ",
                   options.warmup_steps);
  TITAN_USER_CHECK(options.min_factor >= 0 && options.min_factor <= 1,
                   "[schedule.min_factor] expected 0 to 1 (a share of the base "
                   "rate), got ",
                   options.min_factor);
  TITAN_USER_CHECK(options.decay_ratio <= 1,
                   "[schedule.decay_ratio] expected 0 to 1, got ",
                   options.decay_ratio);
  Schedule schedule;
  schedule.total_steps = options.total_steps;
  schedule.decay = decay_of(options.decay);
  schedule.min_factor = options.min_factor;
  schedule.warmup_steps = options.warmup_steps;
  if (schedule.warmup_steps > schedule.total_steps) {
    warnings.push_back(text("[schedule.warmup_steps] ",
                            options.warmup_steps,
                            " is more than training.steps ",
                            options.total_steps,
                            ": using ",
                            options.total_steps));
    schedule.warmup_steps = schedule.total_steps;
  }
  const int64_t rest = schedule.total_steps - schedule.warmup_steps;
  if (options.decay_steps >= 0)
    schedule.decay_steps = options.decay_steps;
  else if (options.decay_ratio >= 0)
    schedule.decay_steps = static_cast<int64_t>(std::llround(
        options.decay_ratio * static_cast<double>(schedule.total_steps)));
  else
    schedule.decay_steps = rest;
  if (schedule.decay_steps > rest) {
    warnings.push_back(text("[schedule.decay_steps] ",
                            schedule.decay_steps,
                            " does not fit behind warmup ",
                            schedule.warmup_steps,
                            " of ",
                            schedule.total_steps,
                            " steps: using ",
                            rest));
    schedule.decay_steps = rest;
  }
  return schedule;
}

}  // namespace titan::train
