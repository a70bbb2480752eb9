// SPDX-License-Identifier: BSD-3-Clause
#include "core/observe/flops.h"

#include <chrono>

#include <catch2/catch.hpp>

using std::chrono::seconds;
using titan::ThroughputMeter;

TEST_CASE("decoder FLOPs follow 6 N + 6 L H (d_qk + d_v) T", "[unit]") {
  // Llama 3 8B, 7.5e9 parameters in products, 32 layers of 32 heads of 128.
  const double flops =
      titan::decoder_flops_per_token(7.5e9, {32, 32, 128, 128}, 8192);
  CHECK(flops == Approx(45e9 + 6.0 * 32 * 32 * 256 * 8192));
}

TEST_CASE("MFU is the useful share of the peak, and 0 without a peak",
          "[unit]") {
  CHECK(titan::mfu_percent(1e9, 100e3, 200e12) == Approx(50.0));
  CHECK(titan::mfu_percent(1e9, 100e3, 0) == 0);
  CHECK(titan::tflops_per_second(1e9, 100e3) == Approx(100.0));
}

TEST_CASE("the first line divides by its one step, not by the interval",
          "[unit]") {
  const ThroughputMeter::Clock::time_point start{};
  ThroughputMeter meter(start);
  meter.add_step(1000);
  const auto first = meter.report(start + seconds(4));
  CHECK(first.num_steps == 1);
  CHECK(first.seconds_per_step == Approx(4.0));
  CHECK(first.tokens_per_second == Approx(250.0));

  for (int step = 2; step <= 10; ++step) meter.add_step(1000);
  const auto second = meter.report(start + seconds(13));
  CHECK(second.num_steps == 9);
  CHECK(second.seconds_per_step == Approx(1.0));
  CHECK(second.tokens_per_second == Approx(1000.0));
}

TEST_CASE("a checkpoint between two reports does not slow the steps",
          "[unit]") {
  const ThroughputMeter::Clock::time_point start{};
  ThroughputMeter meter(start);
  meter.add_step(100);
  meter.exclude(seconds(8));
  CHECK(meter.report(start + seconds(10)).tokens_per_second == Approx(50.0));
}

TEST_CASE("an interval without steps reports zeros", "[unit]") {
  const ThroughputMeter::Clock::time_point start{};
  ThroughputMeter meter(start);
  const auto report = meter.report(start);
  CHECK(report.tokens_per_second == 0);
  CHECK(report.seconds_per_step == 0);
}
