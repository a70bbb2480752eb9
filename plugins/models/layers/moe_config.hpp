// SPDX-License-Identifier: BSD-3-Clause
// What families with experts have in common as configuration: the keys of
// "moe" that all of them have, from a recipe, from Hugging Face's config.json
// and back. The network is in moe.hpp.
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

/// The same keys without balancing, which is not in config.json. The defaults
/// are those of transformers for the family.
inline Json moe_from_hf(const Json& hf,
                        int64_t default_num_experts,
                        int64_t default_hidden_dim) {
  TITAN_USER_CHECK(!hf.flag_or("output_router_logits", false),
                   "[config.json output_router_logits] its balance loss is not "
                   "supported: expected false, got true");
  Json out = Json::object();
  // transformers 5 writes the first with some families; published files have
  // the second.
  out["num_experts"] = hf.i64_or("num_local_experts",
                                 hf.i64_or("num_experts", default_num_experts));
  out["top_k"] = hf.i64_or("num_experts_per_tok", 8);
  out["hidden_dim"] = hf.i64_or("moe_intermediate_size", default_hidden_dim);
  return out;
}

inline void add_moe_to_hf(const MoeConfig& c, Json& out) {
  out["num_experts"] = c.router.num_experts;
  out["num_experts_per_tok"] = c.router.top_k;
  out["moe_intermediate_size"] = c.hidden_dim;
  out["output_router_logits"] = false;
}

}  // namespace titan::layers
