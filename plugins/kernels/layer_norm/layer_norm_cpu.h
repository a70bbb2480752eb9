// SPDX-License-Identifier: BSD-3-Clause
// titan.layer_norm/1 on CPU vectors, fp32 and bf16 with statistics in fp32: the
// mean first, then the squares of what is left, from the nearest cache.
#pragma once

#include <titan/sdk/kernel.hpp>

namespace titan::kernels {

class LayerNormCpu {
 public:
  /// Refuses a weight or bias that is neither fp32 nor bf16.
  int score(const Shapes& shapes) const;
  /// x [..., D], weight [D], bias [D] -> y [..., D]; mean, rstd [..., 1] in
  /// fp32.
  void forward(const Call& call) const;
  /// Gradients of weight and bias are summed over fixed groups of rows, then
  /// over the groups, whatever the number of threads.
  void backward(const Call& call) const;
};

}  // namespace titan::kernels
