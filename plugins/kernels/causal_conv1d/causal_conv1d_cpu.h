// SPDX-License-Identifier: BSD-3-Clause
// titan.causal_conv1d/1 on CPU vectors, fp32 and bf16 with sums in fp32.
// Channels lie across the lanes; a task is a band of channels, whose rows of
// the last few tokens stay in the nearest cache. Backward makes the sums before
// the activation again, and walks the tokens once: the gradient of a token's
// input is written when those of the W - 1 tokens after it are known.
#pragma once

#include <titan/sdk/kernel.hpp>

namespace titan::kernels {

class CausalConv1dCpu {
 public:
  /// Refuses weights or a bias that are neither fp32 nor bf16.
  int score(const Shapes& shapes) const;
  /// x [T, C], cu_seqlens [documents + 1], past [P, C], weight [C, 1, W],
  /// bias [C] -> y [T, C].
  void forward(const Call& call) const;
  void backward(const Call& call) const;
};

}  // namespace titan::kernels
