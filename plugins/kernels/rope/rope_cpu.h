// SPDX-License-Identifier: BSD-3-Clause
// titan.rope_complex/1 and titan.rope_cos_sin/1 on CPU vectors, fp32 and bf16,
// computed in fp32 and rounded once. Heads are read as they lie in a fused
// projection. Backward turns by the negative angle.
#pragma once

#include <titan/sdk/kernel.hpp>

namespace titan::kernels {

namespace rope {

/// Which dims of a head turn together: (2j, 2j + 1) or (j, j + R/2).
enum class Pairs { kAdjacent, kHalves };

}  // namespace rope

template <rope::Pairs kPairs>
class RopeCpu {
 public:
  int score(const Shapes&) const { return 500; }
  /// x [T, N, H], positions [T] -> y [T, N, H].
  void forward(const Call& call) const;
  void backward(const Call& call) const;
};

using RopeComplexCpu = RopeCpu<rope::Pairs::kAdjacent>;
using RopeCosSinCpu = RopeCpu<rope::Pairs::kHalves>;

}  // namespace titan::kernels
