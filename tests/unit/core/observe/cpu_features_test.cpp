// SPDX-License-Identifier: BSD-3-Clause
#include "core/observe/cpu_features.h"

#include <string>

#include <catch2/catch.hpp>

#include "core/observe/text_file.h"

TEST_CASE("CPU features agree with the kernel's list", "[unit]") {
  const std::string cpus = titan::read_text_file("/proc/cpuinfo").value_or("");
  const size_t start = cpus.find("flags");
  if (start == std::string::npos) return;  // not x86: all are false
  const std::string flags =
      cpus.substr(start, cpus.find('\n', start) - start) + " ";
  const auto has = [&](const std::string& flag) {
    return flags.find(" " + flag + " ") != std::string::npos;
  };
  const auto features = titan::detect_cpu_features();
  CHECK(features.avx2 == (has("avx2") && has("fma")));
  CHECK(features.avx512f == has("avx512f"));
  CHECK(features.avx512bw == has("avx512bw"));
  CHECK(features.avx512vl == has("avx512vl"));
  CHECK(features.avx512dq == has("avx512dq"));
  CHECK(features.avx512_bf16 == has("avx512_bf16"));
  CHECK(features.amx_bf16 == has("amx_bf16"));
  CHECK(features.amx_int8 == has("amx_int8"));
}

TEST_CASE("the compiler's runtime agrees on AVX2 and AVX-512F", "[unit]") {
  const auto features = titan::detect_cpu_features();
  CHECK(features.avx2 == (__builtin_cpu_supports("avx2") != 0 &&
                          __builtin_cpu_supports("fma") != 0));
  CHECK(features.avx512f == (__builtin_cpu_supports("avx512f") != 0));
}

TEST_CASE("features are described by name, in order", "[unit]") {
  titan::CpuFeatures features;
  CHECK(titan::describe(features).empty());
  features.avx2 = true;
  features.amx_int8 = true;
  CHECK(titan::describe(features) == "avx2 amx_int8");
}

TEST_CASE("tiles are granted only where the CPU has them", "[unit]") {
  const auto features = titan::detect_cpu_features();
  if (!features.amx_bf16 && !features.amx_int8) {
    CHECK(!titan::request_amx_tiles());
  } else {
    // Asking twice is allowed: plugins do not know of each other.
    CHECK(titan::request_amx_tiles() == titan::request_amx_tiles());
  }
}
