// SPDX-License-Identifier: BSD-3-Clause
// How torchtitan starts the decoders that it trains from nothing.
#pragma once

#include <cmath>

#include <titan/sdk.hpp>

namespace titan::layers {

/// Projections into a block.
inline constexpr Init kLinearInit = init::trunc_normal(0.02);

/// Projections out of block `layer`, and what multiplies with a gate.
inline Init depth_init(int64_t layer) {
  return init::trunc_normal(0.02 /
                            std::sqrt(2.0 * static_cast<double>(layer + 1)));
}

/// The head: cut at three deviations.
inline Init head_init(int64_t dim) {
  const double std = 1 / std::sqrt(static_cast<double>(dim));
  return init::trunc_normal(std, -3 * std, 3 * std);
}

}  // namespace titan::layers
