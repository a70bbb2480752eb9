// SPDX-License-Identifier: BSD-3-Clause
// What families with experts have in common as configuration: the keys of
// "moe" that all of them have, from a recipe. The network is in moe.hpp,
// config.json of Hugging Face in moe_hf.hpp.
#pragma once

#include <titan/sdk/config.hpp>

#include "plugins/models/layers/moe.hpp"

namespace titan::layers {

/// num_experts (0: none), top_k, hidden_dim and load_balance_coeff; the rest is
/// the family's to set.
inline MoeConfig read_moe(const Config& config, int64_t dim) {
  MoeConfig out;
  out.dim = dim;
  out.hidden_dim = config.i64("moe.hidden_dim");
  out.router.num_experts = config.i64("moe.num_experts");
  out.router.top_k = config.i64("moe.top_k");
  if (config.has("moe.load_balance_coeff"))
    out.load_balance_coeff = config.f64("moe.load_balance_coeff");
  check_router(out.router);
  return out;
}

}  // namespace titan::layers
