// SPDX-License-Identifier: BSD-3-Clause
// Numbers out of stored bytes, for tools that compare or summarise files. The
// trainer hands bytes to LibTorch and needs none of this.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/checkpoint/dtype.h"

namespace titan::checkpoint {

/// The elements as doubles; a complex element gives two. 64-bit integers
/// beyond 2^53 are rounded.
std::vector<double> decode(Dtype dtype, std::span<const std::byte> bytes);

}  // namespace titan::checkpoint
