// SPDX-License-Identifier: BSD-3-Clause
// The norms that decoders choose from, as one type: what a configuration says
// becomes a leaf.
#pragma once

#include <titan/sdk.hpp>

namespace titan::layers {

struct NormConfig {
  double eps;
  bool is_layer_norm = false;  // else RMSNorm
  bool has_weight = true;
  bool has_bias = false;  // layer norm only
  int64_t offset = 0;     // RMSNorm: 1 where weights are stored as (w - 1)
};

/// Weights of one norm over `dim`.
inline int64_t norm_weights(const NormConfig& c, int64_t dim) {
  return dim * ((c.has_weight ? 1 : 0) + (c.has_bias ? 1 : 0));
}

inline Leaf norm_leaf(const Build& b, int64_t dim, const NormConfig& c) {
  const NormOptions options{.eps = c.eps,
                            .has_weight = c.has_weight,
                            .has_bias = c.has_bias,
                            .offset = c.offset};
  return c.is_layer_norm ? static_cast<Leaf>(LayerNorm(b, dim, options))
                         : static_cast<Leaf>(RMSNorm(b, dim, options));
}

}  // namespace titan::layers
