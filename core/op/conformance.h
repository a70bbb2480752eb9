// SPDX-License-Identifier: BSD-3-Clause
// A kernel held against its op: the catalogue's cases, in every dtype that it
// takes, forward and backward, beside the op's reference in float64 on the same
// rounded inputs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/op/kernel.h"

namespace titan::op {

struct ConformanceResult {
  std::string case_name;
  at::ScalarType dtype;
  std::string refusal;  // of `score`; then nothing else was done
  /// Largest |got - expected| / max(|expected|, floor) in 2-norms over outputs,
  /// over gradients; the floor of a gradient is a tenth of the norm of all.
  double forward_error = 0;
  double backward_error = 0;
  Tolerance limit;
  std::string problem;  // a thrown error, or a repeat that differs in its bits
  bool passes() const {
    return problem.empty() && forward_error <= limit.forward &&
           backward_error <= limit.backward;
  }
};

struct ConformanceOptions {
  uint64_t seed = 7;
  /// Inputs are views with gaps between rows, as slices of larger tensors are.
  bool is_strided = false;
  /// Called before each case with what it is: '"one token" f32'.
  std::function<void(const std::string&)> on_case;
};

/// Calls the kernel itself on each case of its op that its score takes. Its
/// backward gets the saved tensors of its own forward, and those of the
/// reference: any kernel's backward must work after any kernel's forward.
std::vector<ConformanceResult> check_kernel(
    const std::shared_ptr<const Kernel>& kernel,
    const ConformanceOptions& options);

}  // namespace titan::op
