// SPDX-License-Identifier: BSD-3-Clause
// DeepSeek-V3's configuration: the schema that recipes are checked against, and
// its struct.
#pragma once

#include <string_view>

#include "plugins/models/layers/decoder_config.hpp"
#include "plugins/models/layers/latent_attention.hpp"
#include "plugins/models/layers/moe.hpp"
#include "plugins/models/layers/schema.hpp"

namespace titan::deepseek_v3 {

inline constexpr std::string_view kSchemaHead = R"json({
"type": "object", "additionalProperties": false, "properties": {
"dim": {"type": "integer", "default": 7168, "minimum": 1, "maximum": 1e9,
  "description": "Model dimension"},
"num_layers": {"type": "integer", "default": 61, "minimum": 1, "maximum": 1e4,
  "description": "Number of blocks"},
"num_dense_layers": {"type": "integer", "default": 3, "minimum": 0, "maximum": 1e4,
  "description": "First blocks without experts"},
"num_heads": {"type": "integer", "default": 128, "minimum": 1, "maximum": 1e9,
  "description": "Attention heads"},
"q_lora_rank": {"type": "integer", "default": 1536, "minimum": 0, "maximum": 1e9,
  "description": "Dims of the queries' latent; 0: one matrix makes queries"},
"kv_lora_rank": {"type": "integer", "default": 512, "minimum": 1, "maximum": 1e9,
  "description": "Dims of the latent of keys and values"},
"qk_nope_head_dim": {"type": "integer", "default": 128, "minimum": 1, "maximum": 1e9,
  "description": "Dims of a query or key head without position"},
"qk_rope_head_dim": {"type": "integer", "default": 64, "minimum": 2, "maximum": 1e9,
  "description": "Dims of a query head, and of the shared key, that turn"},
"v_head_dim": {"type": "integer", "default": 128, "minimum": 1, "maximum": 1e9,
  "description": "Dims of a value head"},
"hidden_dim": {"type": "integer", "default": 18432, "minimum": 1, "maximum": 1e9,
  "description": "Hidden dimension of a dense feed-forward"},
"vocab_size": {"type": "integer", "default": 129280, "minimum": 1, "maximum": 1e9,
  "description": "Rows of the token embedding"},
"norm_eps": {"type": "number", "default": 1e-6, "minimum": 0,
  "description": "Epsilon of the blocks' and the final RMSNorm"},
"latent_norm_eps": {"type": "number", "default": 1e-6, "minimum": 0,
  "description": "Epsilon of the latents' RMSNorm"},
"tie_embeddings": {"type": "boolean", "default": false,
  "description": "The head uses the token embedding's weight"},
"max_position": {"type": "integer", "default": 163840, "minimum": 1, "maximum": 1e9,
  "description": "Positions the model was made for"},
"attention_bias": {"type": "boolean", "default": false,
  "description": "Biases of wq_a, wkv_a and wo"},
"moe": {"type": "object", "additionalProperties": false, "properties": {
  "num_experts": {"type": "integer", "default": 256, "minimum": 1, "maximum": 1e6,
    "description": "Experts of a block, of which a token goes to top_k"},
  "top_k": {"type": "integer", "default": 8, "minimum": 1,
    "description": "Experts of a token"},
  "hidden_dim": {"type": "integer", "default": 2048, "minimum": 1, "maximum": 1e9,
    "description": "Hidden dimension of an expert"},
  "num_shared_experts": {"type": "integer", "default": 1, "minimum": 0, "maximum": 1e6,
    "description": "Experts of every token, as one of so many times the size"},
  "score": {"type": "string", "default": "sigmoid",
    "enum": ["sigmoid", "softmax"],
    "description": "What makes a score of an expert's logit"},
  "num_groups": {"type": "integer", "default": 8, "minimum": 1,
    "description": "Groups of neighbouring experts; 1: none"},
  "num_limited_groups": {"type": "integer", "default": 4, "minimum": 1,
    "description": "Groups that a token may use"},
  "group_top": {"type": "integer", "default": 2, "minimum": 1,
    "description": "Experts whose scores make a group's worth"},
  "normalise": {"type": "boolean", "default": true,
    "description": "A token's weights sum to `scale`"},
  "scale": {"type": "number", "default": 2.5, "exclusiveMinimum": 0,
    "description": "Factor of the weights of routed experts"},
  "load_balance_coeff": {"type": ["number", "null"], "default": 1e-3,
    "minimum": 0,
    "description": "How far a step moves the bias of experts; 0: it stays; null: no bias with softmax, as 0 with sigmoid"},
  "balance_loss_coeff": {"type": "number", "default": 0, "minimum": 0,
    "description": "Factor of the sequence-wise balance loss"}
}},
"mtp": {"type": "object", "additionalProperties": false, "properties": {
  "num_layers": {"type": "integer", "default": 0, "minimum": 0, "maximum": 1e4,
    "description": "Tokens further ahead that training predicts too"},
  "loss_coeff": {"type": "number", "default": 0.3, "minimum": 0,
    "description": "Factor of the mean loss of those predictions"}
}},
"rope": {"type": "object", "additionalProperties": false, "properties": {
  "theta": {"type": "number", "default": 10000, "exclusiveMinimum": 0,
    "description": "Base of the rotary frequencies"},
  "interleaved": {"type": "boolean", "default": true,
    "description": "Pairs are neighbouring dims; false: halves of a head"},
  "scaling": {"type": "object", "additionalProperties": false, "properties": {
    "factor": {"type": "number", "default": 40, "minimum": 1,
      "description": "Stretch; unused with none"},
    "original_max_position": {"type": "integer", "default": 4096, "minimum": 1, "maximum": 1e9,
      "description": "llama, yarn: context before stretching"},
    "mscale": {"type": "number", "default": 1, "minimum": 0,
      "description": "yarn: q and k times m(mscale) / m(mscale_all_dim) where they turn, m(s) = 0.1 s ln(factor) + 1"},
    "mscale_all_dim": {"type": "number", "default": 1, "minimum": 0,
      "description": "yarn: scores times m(mscale_all_dim) squared"},
)json";
inline constexpr std::string_view kSchemaTail = R"json(}}}}}})json";
inline constexpr std::string_view kConfigSchema =
    layers::kJoined<kSchemaHead, layers::kRopeScalingSchema, kSchemaTail>;

struct DeepseekConfig : layers::DecoderConfig {
  explicit DeepseekConfig(const Config& config);

  bool is_sparse(int64_t layer) const { return layer >= num_dense_layers; }
  /// Whether a Hugging Face folder is one of V3, else of V2.
  bool is_v3() const { return moe.router.score == "sigmoid"; }
  double latent_norm_eps() const { return attention.norm_eps; }

  int64_t num_dense_layers;
  double mscale;
  double mscale_all_dim;
  bool has_attention_factor;  // given, not from mscale
  layers::LatentAttentionConfig attention;
  layers::MoeConfig moe;
  int64_t num_shared_experts;
  int64_t num_mtp_layers;
  double mtp_loss_coeff;
};

}  // namespace titan::deepseek_v3
