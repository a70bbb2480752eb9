// SPDX-License-Identifier: BSD-3-Clause
// Cases OPT-02 of the reported-faults list, and TorchTitan's factors.
#include "core/train/schedule.h"

#include <catch2/catch.hpp>

#include <titan/error.h>

using titan::train::make_schedule;
using titan::train::Schedule;
using titan::train::ScheduleOptions;

namespace {

Schedule make(ScheduleOptions options,
              std::vector<std::string>* warnings = nullptr) {
  std::vector<std::string> said;
  Schedule schedule = make_schedule(options, said);
  if (warnings != nullptr) *warnings = said;
  return schedule;
}

void check_sane(const Schedule& schedule) {
  for (int64_t step = 0; step < schedule.total_steps; ++step) {
    const double factor = schedule.factor(step);
    INFO("step " << step);
    REQUIRE(factor > 0.0);
    REQUIRE(factor <= 1.0);
  }
}

}  // namespace

TEST_CASE("ten steps with two of warmup have the published factors", "[unit]") {
  const Schedule schedule = make({.total_steps = 10, .warmup_steps = 2});
  const double expected[] = {
      0.5, 1, 1, 7. / 8., 6. / 8., 5. / 8., 4. / 8., 3. / 8., 2. / 8., 1. / 8.};
  for (int64_t step = 0; step < 10; ++step)
    CHECK(schedule.factor(step) == Approx(expected[step]).epsilon(1e-15));
}

TEST_CASE("edge values of the schedule are all defined", "[unit]") {
  for (const char* decay : {"linear", "sqrt", "cosine", "none"}) {
    INFO(decay);
    check_sane(make({.total_steps = 40, .warmup_steps = 0, .decay = decay}));
    check_sane(make({.total_steps = 40, .decay_steps = 0, .decay = decay}));
    check_sane(make({.total_steps = 40, .decay_ratio = 1.0, .decay = decay}));
    check_sane(make({.total_steps = 40, .warmup_steps = 40, .decay = decay}));
    check_sane(make({.total_steps = 1, .decay = decay}));
    check_sane(make({.total_steps = 1, .warmup_steps = 1, .decay = decay}));
  }
}

TEST_CASE("an overlap of warmup and decay is clipped with both numbers",
          "[unit]") {
  std::vector<std::string> warnings;
  const Schedule schedule = make(
      {.total_steps = 40, .warmup_steps = 4, .decay_ratio = 0.95}, &warnings);
  CHECK(schedule.decay_steps == 36);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Catch::Contains("38") && Catch::Contains("36"));

  const Schedule longer =
      make({.total_steps = 10, .warmup_steps = 20}, &warnings);
  CHECK(longer.warmup_steps == 10);
  CHECK_THAT(warnings.at(0), Catch::Contains("20") && Catch::Contains("10"));
}

TEST_CASE("the factor ends at min_factor and not below", "[unit]") {
  const Schedule schedule =
      make({.total_steps = 100, .decay = "cosine", .min_factor = 0.1});
  CHECK(schedule.factor(99) == Approx(0.1).margin(0.001));
  CHECK(schedule.factor(99) >= 0.1);
  CHECK(schedule.factor(1000) == Approx(0.1));
}

TEST_CASE("values out of range are refused by name", "[unit]") {
  CHECK_THROWS_WITH(make({.total_steps = 0}),
                    Catch::Contains("[training.steps]"));
  CHECK_THROWS_WITH(make({.total_steps = 5, .warmup_steps = -1}),
                    Catch::Contains("[schedule.warmup_steps]"));
  CHECK_THROWS_WITH(make({.total_steps = 5, .min_factor = 2}),
                    Catch::Contains("[schedule.min_factor]"));
  CHECK_THROWS_WITH(make({.total_steps = 5, .decay = "step"}),
                    Catch::Contains("[schedule.decay]"));
}
