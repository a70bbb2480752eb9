// SPDX-License-Identifier: BSD-3-Clause
// titan.swiglu/1 on CPU vectors, fp32 and bf16, computed in fp32 and rounded
// where the reference rounds.
#pragma once

#include <titan/sdk/kernel.hpp>

namespace titan::kernels {

class SwigluCpu {
 public:
  int score(const Shapes&) const { return 500; }
  /// gate, up [..., D] -> y [..., D].
  void forward(const Call& call) const;
  /// Both gradients in one pass.
  void backward(const Call& call) const;
};

}  // namespace titan::kernels
