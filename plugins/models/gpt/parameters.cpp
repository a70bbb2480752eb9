// SPDX-License-Identifier: BSD-3-Clause
#include "plugins/models/gpt/parameters.h"

namespace titan::gpt {
namespace {

void add_linear(Parameters& out,
                const std::string& name,
                int64_t rows,
                bool has_bias = false) {
  out[name + ".weight"] = {rows, 2};
  if (has_bias) out[name + ".bias"] = {rows, 1};
}

void add_norm(Parameters& out,
              const std::string& name,
              int64_t width,
              const layers::NormConfig& norm) {
  if (norm.has_weight) out[name + ".weight"] = {width, 1};
  if (norm.has_bias) out[name + ".bias"] = {width, 1};
}

void add_attention(Parameters& out, const GptConfig& c) {
  const std::string qkv = "attention.qkv_linear.";
  const int64_t q_rows = c.num_heads * c.head_dim;
  const int64_t kv_rows = c.num_kv_heads * c.head_dim;
  add_linear(out, qkv + "wq", q_rows, c.has_qkv_bias);
  add_linear(out, qkv + "wk", kv_rows, c.has_qkv_bias);
  add_linear(out, qkv + "wv", kv_rows, c.has_qkv_bias);
  add_linear(out, "attention.wo", c.dim, c.has_output_bias);
  if (!c.has_qk_norm) return;
  const bool is_wide = c.qk_norm_is_over_width;
  add_norm(out, "attention.q_norm", is_wide ? q_rows : c.head_dim, c.norm);
  add_norm(out, "attention.k_norm", is_wide ? kv_rows : c.head_dim, c.norm);
}

void add_latent(Parameters& out,
                const layers::LatentAttentionConfig& c,
                int64_t dim) {
  const layers::NormConfig norm{.eps = c.norm_eps};
  const int64_t q_rows = c.num_heads * c.key_dim();
  if (c.q_latent_dim == 0) {
    add_linear(out, "attention.wq", q_rows);
  } else {
    add_linear(out, "attention.wq_a", c.q_latent_dim, c.has_bias);
    add_norm(out, "attention.q_norm", c.q_latent_dim, norm);
    add_linear(out, "attention.wq_b", q_rows);
  }
  const int64_t kv_rows = c.kv_latent_dim + c.turned_dim;
  add_linear(out, "attention.wkv_a", kv_rows, c.has_bias);
  add_norm(out, "attention.kv_norm", c.kv_latent_dim, norm);
  add_linear(out, "attention.wkv_b", c.num_heads * (c.plain_dim + c.value_dim));
  add_linear(out, "attention.wo", dim, c.has_bias);
}

void add_experts(Parameters& out, const layers::MoeConfig& c) {
  const int64_t experts = c.router.num_experts;
  add_linear(out, "moe.router.gate", experts, c.router.has_gate_bias);
  for (const char* name : {"w1_EFD", "w2_EDF", "w3_EFD"})
    out[std::string("moe.routed_experts.inner_experts.") + name] = {experts, 3};
  if (c.load_balance_coeff) out["moe.expert_bias_E"] = {experts, 1};
  if (c.shared_hidden_dim == 0) return;
  const std::string shared = "moe.shared_experts.";
  add_linear(out, shared + "w1", c.shared_hidden_dim);
  add_linear(out, shared + "w2", c.dim);
  add_linear(out, shared + "w3", c.shared_hidden_dim);
  if (c.has_shared_gate) add_linear(out, shared + "gate", 1);
}

}  // namespace

Parameters outer_parameters(const GptConfig& c) {
  Parameters out;
  add_linear(out, "embedding.tokens", c.vocab_size);
  if (c.positions == Positions::kLearned)
    add_linear(out, "embedding.positions", c.max_position + c.position_offset);
  if (c.has_final_norm) add_norm(out, "norm", c.dim, c.norm);
  add_linear(out, "lm_head", c.vocab_size, c.has_head_bias);
  return out;
}

Parameters block_parameters(const GptConfig& c, int64_t layer) {
  Parameters out;
  add_norm(out, "attention_norm", c.dim, c.norm);
  if (c.block != BlockKind::kParallelOneNorm)
    add_norm(out, "ffn_norm", c.dim, c.norm);
  if (c.norm_place == NormPlace::kBoth) {
    add_norm(out, "attention_post_norm", c.dim, c.norm);
    add_norm(out, "ffn_post_norm", c.dim, c.norm);
  }
  if (c.latent)
    add_latent(out, *c.latent, c.dim);
  else
    add_attention(out, c);
  if (c.has_experts[static_cast<size_t>(layer)]) {
    add_experts(out, c.moe);
    return out;
  }
  const std::string mix = "feed_forward.";
  add_linear(out, mix + "w1", c.hidden_dim, c.has_feed_forward_bias);
  add_linear(out, mix + "w2", c.dim, c.has_feed_forward_bias);
  if (c.is_gated)
    add_linear(out, mix + "w3", c.hidden_dim, c.has_feed_forward_bias);
  return out;
}

}  // namespace titan::gpt
