// SPDX-License-Identifier: BSD-3-Clause
// Cosines and sines of the RoPE kernels, made once per set of attributes.
// Legend: P positions, R rotary dims.
#pragma once

#include <memory>

#include <titan/sdk/kernel.hpp>

#include "plugins/kernels/simd/scratch.h"

namespace titan::kernels::rope {

struct Table {
  int64_t num_positions, half;  // half = R/2
  Scratch cos, sin;             // [P, R/2], times the magnitude
};

/// Positions of the tokens, i32 or i64 in the tensor.
std::vector<int64_t> positions_of(TensorView tensor);

/// A table that covers all positions; UserError when one is negative or not
/// below max_position. It lives as long as the pointer. [thread: any]
std::shared_ptr<const Table> table_for(const AttributeView& attributes,
                                       int64_t rotary_dim,
                                       const std::vector<int64_t>& positions);

}  // namespace titan::kernels::rope
