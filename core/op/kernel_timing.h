// SPDX-License-Identifier: BSD-3-Clause
// Kernels of one op timed beside each other, forward and backward, in turns so
// that what slows the machine slows all of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/op/example_call.h"
#include "core/op/kernel.h"

namespace titan::op {

struct KernelTiming {
  std::string kernel_id;
  std::vector<double> forward_ms;
  std::vector<double> backward_ms;  // empty: it has none, or none is wanted
  /// Largest |got - expected| over largest |expected|, beside the reference in
  /// float64: of outputs, of gradients. -1 = not computed.
  double forward_error = -1;
  double backward_error = -1;

  /// Of forward and backward of each step together.
  double ms_median() const;
  double ms_min() const;
};

struct TimingOptions {
  int steps = 10;
  int warmup = 2;
  bool has_error = true;  // float64 takes the reference's time and memory
  uint64_t seed = 7;
};

/// Work of one step: forward, and backward if the op has gradients here.
struct CallCost {
  double flops = 0;
  double bytes = 0;  // inputs, outputs and gradients of both, once each
};

CallCost cost_of(const ExampleCall& call);

/// One entry per kernel, in their order, all of which accept the call. A step
/// runs each of them once.
std::vector<KernelTiming> time_kernels(
    const ExampleCall& call,
    const std::vector<std::shared_ptr<const Kernel>>& kernels,
    const TimingOptions& options);

/// The middle of the sorted values, or the mean of the two; 0 of none.
double median_of(std::vector<double> values);

}  // namespace titan::op
