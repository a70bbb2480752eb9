// SPDX-License-Identifier: BSD-3-Clause
// A kernel of titan.swiglu/1 behind the C table, as a plugin would bring it. It
// multiplies its result by 10, so that a test sees which kernel ran, and counts
// what happens to it.
#pragma once

#include <memory>
#include <string>

#include "core/op/select.h"

namespace titan::op::test {

struct FakeKernelCounts {
  int forward = 0;
  int backward = 0;
  int destroyed = 0;
  int unloaded = 0;  // the keepalive was let go
  uint64_t want = 0;
};

/// Of the test process; reset by make_registry.
FakeKernelCounts& fake_kernel_counts();

/// A registry with "acme.swiglu" (score 100, refuses a last dim of 5 with a
/// reason, fails on a last dim of 3) and "acme.swiglu_other" (score 50, no
/// backward).
std::shared_ptr<KernelRegistry> make_registry();

}  // namespace titan::op::test
