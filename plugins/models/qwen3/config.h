// SPDX-License-Identifier: BSD-3-Clause
// Qwen3's configuration: the schema that recipes are checked against, and its
// struct.
#pragma once

#include <string_view>
#include <vector>

#include "plugins/models/layers/decoder_config.hpp"
#include "plugins/models/layers/moe_config.hpp"
#include "plugins/models/layers/schema.hpp"

namespace titan::qwen3 {

inline constexpr std::string_view kSchemaHead = R"json({
"type": "object", "additionalProperties": false, "properties": {
"dim": {"type": "integer", "default": 4096, "minimum": 1, "maximum": 1e9,
  "description": "Model dimension"},
"num_layers": {"type": "integer", "default": 36, "minimum": 1, "maximum": 1e4,
  "description": "Number of blocks"},
"num_heads": {"type": "integer", "default": 32, "minimum": 1, "maximum": 1e9,
  "description": "Query heads"},
"num_kv_heads": {"type": "integer", "default": 8, "minimum": 1, "maximum": 1e9,
  "description": "Key/value heads; divides num_heads"},
"head_dim": {"type": "integer", "default": 128, "minimum": 2, "maximum": 1e9,
  "description": "Head dimension, whatever dim / num_heads is"},
"hidden_dim": {"type": "integer", "default": 12288, "minimum": 1, "maximum": 1e9,
  "description": "Hidden dimension of a dense feed-forward"},
"vocab_size": {"type": "integer", "default": 151936, "minimum": 1, "maximum": 1e9,
  "description": "Rows of the token embedding"},
"norm_eps": {"type": "number", "default": 1e-6, "minimum": 0,
  "description": "Epsilon of every RMSNorm, those of q and k too"},
"tie_embeddings": {"type": "boolean", "default": false,
  "description": "The head uses the token embedding's weight"},
"max_position": {"type": "integer", "default": 40960, "minimum": 1, "maximum": 1e9,
  "description": "Positions the model was made for"},
"attention_bias": {"type": "boolean", "default": false,
  "description": "Biases of wq, wk, wv and wo"},
"sliding_window": {"type": ["integer", "null"], "default": null, "minimum": 1, "maximum": 1e9,
  "description": "Tokens that the blocks of sliding_layers see, oneself too"},
"sliding_layers": {"type": "array", "default": [],
  "items": {"type": "integer", "minimum": 0},
  "description": "Blocks whose attention sees only sliding_window tokens"},
"moe": {"type": "object", "additionalProperties": false, "properties": {
  "num_experts": {"type": "integer", "default": 0, "minimum": 0, "maximum": 1e6,
    "description": "Experts of a block; 0: every block is dense"},
  "top_k": {"type": "integer", "default": 8, "minimum": 1,
    "description": "Experts of a token"},
  "hidden_dim": {"type": "integer", "default": 768, "minimum": 1, "maximum": 1e9,
    "description": "Hidden dimension of an expert"},
  "normalise": {"type": "boolean", "default": true,
    "description": "A token's weights sum to 1"},
  "sparse_step": {"type": "integer", "default": 1, "minimum": 1,
    "description": "Every so many blocks have experts, the others are dense"},
  "dense_layers": {"type": "array", "default": [],
    "items": {"type": "integer", "minimum": 0},
    "description": "Blocks that are dense whatever sparse_step says"},
  "load_balance_coeff": {"type": ["number", "null"], "default": null,
    "exclusiveMinimum": 0,
    "description": "How far a step moves the bias of experts; null: no bias"}
}},
"rope": {"type": "object", "additionalProperties": false, "properties": {
  "theta": {"type": "number", "default": 1000000, "exclusiveMinimum": 0,
    "description": "Base of the rotary frequencies"},
  "scaling": {"type": "object", "additionalProperties": false, "properties": {
    "factor": {"type": "number", "default": 4, "minimum": 1,
      "description": "Stretch; unused with none"},
    "original_max_position": {"type": "integer", "default": 32768, "minimum": 1, "maximum": 1e9,
      "description": "llama, yarn: context before stretching"},
)json";
inline constexpr std::string_view kSchemaTail = R"json(}}}}}})json";
inline constexpr std::string_view kConfigSchema =
    layers::kJoined<kSchemaHead, layers::kRopeScalingSchema, kSchemaTail>;

struct Qwen3Config : layers::DecoderConfig {
  explicit Qwen3Config(const Config& config);

  /// Tokens that a block's attention sees, oneself too; 0: all before it.
  int64_t window_of(int64_t layer) const {
    return is_sliding(layer) ? sliding_window : 0;
  }
  bool is_sliding(int64_t layer) const {
    return is_sliding_layer[static_cast<size_t>(layer)];
  }

  bool has_experts() const { return moe.router.num_experts > 0; }
  bool is_sparse(int64_t layer) const {
    return has_experts() && (layer + 1) % sparse_step == 0 &&
           !is_dense_layer[static_cast<size_t>(layer)];
  }

  int64_t sliding_window;  // 0: none
  std::vector<bool> is_sliding_layer;
  layers::MoeConfig moe;  // of sparse blocks
  int64_t sparse_step;
  std::vector<bool> is_dense_layer;
};

}  // namespace titan::qwen3
