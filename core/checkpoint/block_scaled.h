// SPDX-License-Identifier: BSD-3-Clause
// Weights that are stored as small numbers with a scale for each block, as the
// plain tensors that they stand for.
#pragma once

#include <vector>

#include "core/checkpoint/dtype.h"
#include "core/checkpoint/safetensors_writer.h"

namespace titan::checkpoint {

/// Replaces, and leaves every other tensor as it is:
/// - "X" (F8_E4M3, 2 dims) with "X_scale_inv" (F32), one scale for 128 x 128
///   elements, as DeepSeek-V3: X times its scale;
/// - "X_blocks" (U8 [E, R, G, 16]: two E2M1 numbers a byte, the low one first)
///   with "X_scales" (U8 [E, R, G]: exponent + 127), as gpt-oss: "X" of shape
///   [E, 32 G, R], the layout of the unpacked model.
/// The results have the type `to` (F32, F16 or BF16). Throws UserError for a
/// scale without its numbers, the reverse, or shapes that do not fit.
std::vector<TensorSource> decode_block_scaled(std::vector<TensorSource> tensors,
                                              Dtype to);

}  // namespace titan::checkpoint
