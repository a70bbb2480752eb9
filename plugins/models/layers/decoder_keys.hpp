// SPDX-License-Identifier: BSD-3-Clause
// Names of a decoder's parameters in Hugging Face's checkpoints, as Llama's
// implementation set them and most families kept them.
#pragma once

#include <string>

#include <titan/sdk/model.hpp>

namespace titan::layers {

/// What the names of a block's parameters begin with. Some families give
/// blocks outside the stack names of their own.
struct BlockNames {
  std::string native = "layers.{i}.";
  std::string hf = "model.layers.{i}.";
};

struct AttentionKeys {
  bool has_bias = false;
  bool has_qk_norm = false;
  int64_t permuted_head_dim = 0;  // adjacent pairs here, halves there; 0: alike
  std::string name = "attention";       // of the block's module
  std::string qkv_name = "qkv_linear";  // AttentionConfig's
  BlockNames block = {};
};

/// Weight and, where the layer has one, bias.
template <typename Add>
void each_tensor(bool has_bias, Add add) {
  add(std::string(".weight"));
  if (has_bias) add(std::string(".bias"));
}

inline void attention_keys(Keys& keys, const AttentionKeys& c) {
  const std::string native = c.block.native + c.name + ".";
  const std::string qkv = c.qkv_name.empty() ? "" : c.qkv_name + ".";
  const std::string hf = c.block.hf + "self_attn.";
  const auto turned = [&](const std::string& ours, const std::string& theirs) {
    if (c.permuted_head_dim == 0)
      keys.identity(native + ours, hf + theirs);
    else
      keys.rope_rows(native + ours, hf + theirs, c.permuted_head_dim);
  };
  each_tensor(c.has_bias, [&](const std::string& tensor) {
    turned(qkv + "wq" + tensor, "q_proj" + tensor);
    turned(qkv + "wk" + tensor, "k_proj" + tensor);
    keys.identity(native + qkv + "wv" + tensor, hf + "v_proj" + tensor);
    keys.identity(native + "wo" + tensor, hf + "o_proj" + tensor);
  });
  if (c.has_qk_norm) {
    keys.identity(native + "q_norm.weight", hf + "q_norm.weight");
    keys.identity(native + "k_norm.weight", hf + "k_norm.weight");
  }
  keys.ignore(hf + "rotary_emb.inv_freq");
}

/// `wq_a` is absent where one matrix makes the queries.
inline void latent_attention_keys(Keys& keys,
                                  bool has_q_latent,
                                  bool has_bias,
                                  const BlockNames& block = {}) {
  const std::string native = block.native + "attention.";
  const std::string hf = block.hf + "self_attn.";
  each_tensor(has_bias, [&](const std::string& tensor) {
    if (has_q_latent)
      keys.identity(native + "wq_a" + tensor, hf + "q_a_proj" + tensor);
    keys.identity(native + "wkv_a" + tensor,
                  hf + "kv_a_proj_with_mqa" + tensor);
    keys.identity(native + "wo" + tensor, hf + "o_proj" + tensor);
  });
  if (has_q_latent) {
    keys.identity(native + "q_norm.weight", hf + "q_a_layernorm.weight");
    keys.identity(native + "wq_b.weight", hf + "q_b_proj.weight");
  } else {
    keys.identity(native + "wq.weight", hf + "q_proj.weight");
  }
  keys.identity(native + "kv_norm.weight", hf + "kv_a_layernorm.weight");
  keys.identity(native + "wkv_b.weight", hf + "kv_b_proj.weight");
  keys.ignore(hf + "rotary_emb.inv_freq");
}

/// A feed-forward at `native` that is called `hf` there.
inline void feed_forward_keys(Keys& keys,
                              bool has_bias,
                              const std::string& native,
                              const std::string& hf) {
  each_tensor(has_bias, [&](const std::string& tensor) {
    keys.identity(native + "w1" + tensor, hf + "gate_proj" + tensor);
    keys.identity(native + "w2" + tensor, hf + "down_proj" + tensor);
    keys.identity(native + "w3" + tensor, hf + "up_proj" + tensor);
  });
}

inline void feed_forward_keys(Keys& keys,
                              bool has_bias,
                              const BlockNames& block = {}) {
  feed_forward_keys(
      keys, has_bias, block.native + "feed_forward.", block.hf + "mlp.");
}

/// Experts are stored one by one there and stacked here; some checkpoints have
/// them stacked, gate and up projection as one, which is read too. The bias of
/// the choice has no name with most: an import starts it at zero, an export
/// leaves it out.
inline void moe_keys(Keys& keys, const BlockNames& block = {}) {
  const std::string native = block.native + "moe.";
  const std::string inner = native + "routed_experts.inner_experts.";
  const std::string hf = block.hf + "mlp.";
  keys.identity(native + "router.gate.weight", hf + "gate.weight");
  keys.stack(inner + "w1_EFD", hf + "experts.{e}.gate_proj.weight");
  keys.stack(inner + "w2_EDF", hf + "experts.{e}.down_proj.weight");
  keys.stack(inner + "w3_EFD", hf + "experts.{e}.up_proj.weight");
  const auto fused = [&](const char* name, const char* theirs, KeyRule rule) {
    const std::string ours = inner + name, other = hf + "experts." + theirs;
    rule.native = ours;
    rule.hf = other;
    rule.is_alternative = true;
    keys.add(rule);
  };
  constexpr KeyRule kHalf{.transform = TITAN_KEY_SPLIT, .arg1 = 2, .arg2 = 1};
  KeyRule second = kHalf;
  second.arg0 = 1;
  fused("w1_EFD", "gate_up_proj", kHalf);
  fused("w2_EDF", "down_proj", {});
  fused("w3_EFD", "gate_up_proj", second);
}

inline void block_norm_keys(Keys& keys, const BlockNames& block = {}) {
  keys.identity(block.native + "attention_norm.weight",
                block.hf + "input_layernorm.weight");
  keys.identity(block.native + "ffn_norm.weight",
                block.hf + "post_attention_layernorm.weight");
}

/// Around the block of one depth of multi-token prediction; its copies of
/// embedding and head are the model's own.
inline void multi_token_keys(Keys& keys, const BlockNames& depth) {
  for (const char* name : {"enorm.weight", "hnorm.weight", "eh_proj.weight"})
    keys.identity(depth.native + name, depth.hf + name);
  keys.identity(depth.native + "mtp_norm.weight",
                depth.hf + "shared_head.norm.weight");
  keys.ignore(depth.hf + "embed_tokens.weight");
  keys.ignore(depth.hf + "shared_head.head.weight");
}

/// All that is around attention and feed-forward.
inline void decoder_keys(Keys& keys,
                         bool has_tied_embeddings,
                         const std::string& hf_prefix = "model.") {
  keys.identity("tok_embeddings.weight", hf_prefix + "embed_tokens.weight");
  block_norm_keys(keys, {.hf = hf_prefix + "layers.{i}."});
  keys.identity("norm.weight", hf_prefix + "norm.weight");
  // Some tied checkpoints store the head a second time.
  if (has_tied_embeddings)
    keys.ignore("lm_head.weight");
  else
    keys.identity("lm_head.weight", "lm_head.weight");
}

}  // namespace titan::layers
