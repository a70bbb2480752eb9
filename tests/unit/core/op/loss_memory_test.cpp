// SPDX-License-Identifier: BSD-3-Clause
// What the fused loss is for: the logits of all tokens never exist at once.
#include <algorithm>
#include <memory>

#include <ATen/ATen.h>
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <catch2/catch.hpp>

#include "core/op/catalogue.h"
#include "core/op/reference/reference.h"
#include "core/op/slot.h"

namespace titan::op {
namespace {

// LibTorch's allocator tells the profiler of every block; this one listens.
class AllocationCounter : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*,
                         int64_t alloc_size,
                         size_t,
                         size_t,
                         c10::Device) override {
    live += alloc_size;
    peak = std::max(peak, live);
  }
  bool memoryProfilingEnabled() const override { return true; }

  int64_t live = 0;
  int64_t peak = 0;
};

int64_t peak_of_loss(int64_t chunk, int64_t T, int64_t V) {
  Slot slot(find_op("titan.fused_linear_cross_entropy/1"),
            "loss",
            "",
            {{"chunk_tokens", chunk}});
  const int64_t D = 8;
  const at::Tensor hidden =
      reference::random_normal({T, D}, at::kFloat, 1).requires_grad_(true);
  const at::Tensor weight =
      reference::random_normal({V, D}, at::kFloat, 2).requires_grad_(true);
  const at::Tensor labels = reference::random_ids({T}, V, 3);
  const auto counter = std::make_shared<AllocationCounter>();
  const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, counter);
  invoke_one(slot, {hidden, weight, {}, labels}).backward();
  return counter->peak;
}

}  // namespace

// Case PRF-01.
TEST_CASE("the fused loss's peak memory falls with the chunks") {
  const int64_t T = 1000, V = 4096;
  const int64_t logits = T * V * 4;
  const int64_t whole = peak_of_loss(T, T, V);
  CHECK(whole >= logits);
  int64_t before = whole;
  for (const int64_t chunk : {500, 130, 33}) {
    const int64_t peak = peak_of_loss(chunk, T, V);
    CAPTURE(chunk, peak, before);
    CHECK(peak < before);
    before = peak;
  }
  // Two chunks of logits at a time, and the weight's gradient twice.
  CHECK(before < logits / 8);
}

}  // namespace titan::op
