// SPDX-License-Identifier: BSD-3-Clause
// Rotation angles of the two RoPE ops: frequencies, scaling rules, and tables
// of cosines and sines made once per (attributes, rotary dim, device, dtype)
// and never changed. Legend: R rotary dims, P positions.
#pragma once

#include <vector>

#include "core/op/reference/reference.h"

namespace titan::op::reference {

struct RopeTable {
  // [P, R/2], times the magnitude; f32 (f64 when the input is f64)
  at::Tensor cos_PR2;
  at::Tensor sin_PR2;
};

/// Attributes that both ops share.
std::vector<AttributeSpec> rope_attributes();

/// R/2 frequencies in radians per position, after scaling.
std::vector<double> rope_frequencies(const Attributes& attributes,
                                     int64_t rotary_dim);

/// A table that covers all of `positions` (i32 or i64, [T]). UserError when one
/// is negative or not below max_position. On the CPU it grows as needed;
/// elsewhere nothing is read back, and max_position decides. [thread: any]
RopeTable rope_table(const Attributes& attributes,
                     int64_t rotary_dim,
                     const at::Tensor& positions,
                     at::ScalarType dtype);

/// What both ops have in common but the pairing of dims.
enum class RopePairs { kAdjacent, kHalves };
OpSpec rope_spec(RopePairs pairs);

}  // namespace titan::op::reference
