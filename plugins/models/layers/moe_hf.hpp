// SPDX-License-Identifier: BSD-3-Clause
// What families with experts have in common in Hugging Face's config.json, both
// ways.
#pragma once

#include <string_view>

#include "plugins/models/layers/hf_config.hpp"
#include "plugins/models/layers/moe.hpp"

namespace titan::layers {

/// The keys of read_moe without balancing, which is not in config.json. The
/// defaults are those of transformers for the family.
inline Json moe_from_hf(const HfConfig& hf,
                        int64_t default_num_experts,
                        int64_t default_hidden_dim) {
  hf.require(
      "output_router_logits", false, "its balance loss is not supported");
  Json out = Json::object();
  // transformers 5 writes the first with some families; published files have
  // the second.
  out["num_experts"] =
      hf.i64_named("num_local_experts", "num_experts", default_num_experts);
  out["top_k"] = hf.i64("num_experts_per_tok", 8);
  out["hidden_dim"] = hf.i64("moe_intermediate_size", default_hidden_dim);
  return out;
}

/// Refuses a bias of experts where Hugging Face's model has none: without it
/// the export would be another network.
inline void check_no_expert_bias(const MoeConfig& c, std::string_view theirs) {
  TITAN_USER_CHECK(!c.load_balance_coeff,
                   "[model.moe.load_balance_coeff] Hugging Face's ",
                   theirs,
                   " has no bias of experts: expected null to be exported, "
                   "got ",
                   *c.load_balance_coeff,
                   ". Set it to null, or export nothing and keep the "
                   "checkpoints.");
}

inline void add_moe_to_hf(const MoeConfig& c, Json& out) {
  out["num_experts"] = c.router.num_experts;
  out["num_experts_per_tok"] = c.router.top_k;
  out["moe_intermediate_size"] = c.hidden_dim;
  out["output_router_logits"] = false;
}

}  // namespace titan::layers
