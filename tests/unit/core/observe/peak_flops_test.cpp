// SPDX-License-Identifier: BSD-3-Clause
#include "core/observe/peak_flops.h"

#include <catch2/catch.hpp>

using titan::gpu_peak_flops_per_second;

TEST_CASE("GPU peaks are found in any case and by whole words", "[unit]") {
  CHECK(gpu_peak_flops_per_second("NVIDIA L40S") == 362e12);
  CHECK(gpu_peak_flops_per_second("nvidia l40s") == 362e12);
  CHECK(gpu_peak_flops_per_second("NVIDIA A100-SXM4-80GB") == 312e12);
  CHECK(gpu_peak_flops_per_second("NVIDIA RTX A6000") == 154.85e12);
  CHECK(gpu_peak_flops_per_second("NVIDIA H100 80GB HBM3") == 989e12);
  CHECK(gpu_peak_flops_per_second("NVIDIA H100 NVL") == 835e12);
  CHECK(gpu_peak_flops_per_second("NVIDIA H100 PCIe") == 756e12);
  CHECK(gpu_peak_flops_per_second("NVIDIA H200") == 989e12);
  CHECK(gpu_peak_flops_per_second("NVIDIA H20-3e") == 148e12);
  CHECK(gpu_peak_flops_per_second("NVIDIA GB200") == 2500e12);
  CHECK(gpu_peak_flops_per_second("NVIDIA B200") == 2250e12);
  CHECK(gpu_peak_flops_per_second("AMD Instinct MI300X") == 1300e12);
}

TEST_CASE("unknown cards and slices have no peak instead of a wrong one",
          "[unit]") {
  CHECK(!gpu_peak_flops_per_second("NVIDIA L40"));
  CHECK(!gpu_peak_flops_per_second("NVIDIA GeForce RTX 4090"));
  CHECK(!gpu_peak_flops_per_second("NVIDIA H200 MIG 1g.18gb"));
  CHECK(!gpu_peak_flops_per_second(""));
}

TEST_CASE("the measured peak is the fastest run's", "[unit]") {
  int num_runs = 0;
  volatile double sink = 0;
  const double peak = titan::measure_peak_flops_per_second(
      [&] {
        ++num_runs;
        for (int i = 0; i < 1000; ++i) sink = sink + 1.0;
      },
      1000,
      0.01);
  CHECK(num_runs >= 2);
  CHECK(sink == 1000.0 * num_runs);
  // One addition takes between a tenth of a nanosecond and ten microseconds.
  CHECK(peak > 1e5);
  CHECK(peak < 1e10);
}
