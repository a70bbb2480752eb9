// SPDX-License-Identifier: BSD-3-Clause
// titan.rms_norm/1 on CPU vectors, fp32 and bf16 with statistics in fp32. A row
// is read from memory once: its second pass finds it in the nearest cache.
#pragma once

#include <titan/sdk/kernel.hpp>

namespace titan::kernels {

class RmsNormCpu {
 public:
  /// Refuses weights that are neither fp32 nor bf16.
  int score(const Shapes& shapes) const;
  /// x [..., D], weight [D] -> y [..., D], rstd [..., 1] in fp32.
  void forward(const Call& call) const;
  /// The weight's gradient is summed over fixed groups of rows, then over the
  /// groups, whatever the number of threads.
  void backward(const Call& call) const;
};

}  // namespace titan::kernels
