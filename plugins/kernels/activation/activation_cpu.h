// SPDX-License-Identifier: BSD-3-Clause
// titan.activation/1 on CPU vectors, fp32 and bf16, all functions, computed in
// fp32.
#pragma once

#include <titan/sdk/kernel.hpp>

namespace titan::kernels {

class ActivationCpu {
 public:
  /// Refuses gelu alone in bf16: LibTorch's approximation of erf to 1.5e-7
  /// takes fewer operations, 9.0 ms against 11.5 forward and backward.
  int score(const Shapes& shapes) const;
  /// x [..., D], up [..., D] or absent -> y [..., D].
  void forward(const Call& call) const;
  void backward(const Call& call) const;
};

}  // namespace titan::kernels
