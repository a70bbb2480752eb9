// SPDX-License-Identifier: BSD-3-Clause
// Every kernel of the plugins built here that this machine can run, on every
// case of its op: numbers, gradients, repeats, inputs with gaps between rows.
#include <cstdio>
#include <set>

#include <ATen/ATen.h>
#include <catch2/catch.hpp>

#include "core/op/conformance.h"
#include "core/op/select.h"
#include "core/train/session.h"

namespace titan::op {
namespace {

bool runs_here(const Kernel& kernel) {
  const uint64_t needed = kernel.match().cpu_features;
  return kernel.match().device_type == TITAN_DEVICE_CPU &&
         (needed & ~Hardware::current().cpu_features) == 0;
}

}  // namespace

TEST_CASE("every kernel agrees with its op in float64") {
  plugin::SearchOptions search;
  search.use_environment = false;
  search.executable = TITAN_BINARY_DIR "/bin/titan";
  search.files = {TITAN_BINARY_DIR
                  "/optional_plugins/libtitan_kernels_cpu_avx512_rows.so"};
  const train::PluginHost host(search);
  REQUIRE_FALSE(host.kernels->all().empty());
  for (const auto& kernel : host.kernels->all()) {
    INFO(kernel->id());
    if (!runs_here(*kernel)) {
      std::printf("%s: not run, this CPU lacks what it needs\n",
                  kernel->id().c_str());
      continue;
    }
    for (const bool is_strided : {false, true}) {
      ConformanceOptions options;
      options.is_strided = is_strided;
      std::set<at::ScalarType> ran;
      for (const ConformanceResult& result : check_kernel(kernel, options)) {
        INFO(result.case_name << ' ' << c10::toString(result.dtype)
                              << (is_strided ? ", strided" : ""));
        INFO("forward " << result.forward_error << " of "
                        << result.limit.forward << ", backward "
                        << result.backward_error << " of "
                        << result.limit.backward);
        CHECK(result.problem == "");
        CHECK(result.passes());
        if (result.refusal.empty()) ran.insert(result.dtype);
      }
      // A kernel that refuses every case of a dtype was not looked at.
      for (const auto dtype : {at::kFloat, at::kBFloat16})
        if (kernel->match().dtype_mask >> static_cast<int>(dtype) & 1)
          CHECK(ran.count(dtype) == 1);
    }
  }
}

}  // namespace titan::op
