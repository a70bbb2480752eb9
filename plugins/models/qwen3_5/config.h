// SPDX-License-Identifier: BSD-3-Clause
// Qwen3.5's configuration: the schema that recipes are checked against, and its
// struct.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugins/models/layers/decoder_config.hpp"
#include "plugins/models/layers/gated_delta_net.hpp"
#include "plugins/models/layers/moe_config.hpp"
#include "plugins/models/layers/schema.hpp"

namespace titan::qwen3_5 {

inline constexpr std::string_view kSchemaHead = R"json({
"type": "object", "additionalProperties": false, "properties": {
"dim": {"type": "integer", "default": 4096, "minimum": 1, "maximum": 1e9,
  "description": "Model dimension"},
"num_layers": {"type": "integer", "default": 32, "minimum": 1, "maximum": 1e4,
  "description": "Number of blocks"},
"num_heads": {"type": "integer", "default": 16, "minimum": 1, "maximum": 1e9,
  "description": "Query heads of full attention"},
"num_kv_heads": {"type": "integer", "default": 4, "minimum": 1, "maximum": 1e9,
  "description": "Key/value heads of full attention; divides num_heads"},
"head_dim": {"type": "integer", "default": 256, "minimum": 2, "maximum": 1e9,
  "description": "Head dimension of full attention"},
"hidden_dim": {"type": "integer", "default": 12288, "minimum": 1, "maximum": 1e9,
  "description": "Hidden dimension of a dense feed-forward"},
"vocab_size": {"type": "integer", "default": 248320, "minimum": 1, "maximum": 1e9,
  "description": "Rows of the token embedding"},
"norm_eps": {"type": "number", "default": 1e-6, "minimum": 0,
  "description": "Epsilon of every RMSNorm"},
"tie_embeddings": {"type": "boolean", "default": false,
  "description": "The head uses the token embedding's weight"},
"max_position": {"type": "integer", "default": 262144, "minimum": 1, "maximum": 1e9,
  "description": "Positions the model was made for"},
"attention_bias": {"type": "boolean", "default": false,
  "description": "Biases of full attention's wq, wk, wv and wo"},
"full_attention_layers": {"type": ["array", "null"], "default": null,
  "items": {"type": "integer", "minimum": 0},
  "description": "Blocks with full attention; null: every fourth, from 3 on"},
"linear_attention": {"type": "object", "additionalProperties": false,
  "properties": {
  "num_key_heads": {"type": "integer", "default": 16, "minimum": 1, "maximum": 1e9,
    "description": "Heads of queries and keys"},
  "num_value_heads": {"type": "integer", "default": 32, "minimum": 1, "maximum": 1e9,
    "description": "Heads of values; a multiple of num_key_heads"},
  "key_head_dim": {"type": "integer", "default": 128, "minimum": 1, "maximum": 1e9,
    "description": "Dimension of a query or key"},
  "value_head_dim": {"type": "integer", "default": 128, "minimum": 1, "maximum": 1e9,
    "description": "Dimension of a value"},
  "conv_taps": {"type": "integer", "default": 4, "minimum": 1, "maximum": 1e9,
    "description": "Tokens of the short convolution, the last one included"}
}},
"moe": {"type": "object", "additionalProperties": false, "properties": {
  "num_experts": {"type": "integer", "default": 0, "minimum": 0, "maximum": 1e6,
    "description": "Experts of a block; 0: every block is dense"},
  "top_k": {"type": "integer", "default": 8, "minimum": 1,
    "description": "Experts of a token"},
  "hidden_dim": {"type": "integer", "default": 512, "minimum": 1, "maximum": 1e9,
    "description": "Hidden dimension of an expert"},
  "shared_hidden_dim": {"type": "integer", "default": 512, "minimum": 1, "maximum": 1e9,
    "description": "Hidden dimension of the expert of every token"},
  "load_balance_coeff": {"type": ["number", "null"], "default": null,
    "exclusiveMinimum": 0,
    "description": "How far a step moves the bias of experts; null: no bias"}
}},
"rope": {"type": "object", "additionalProperties": false, "properties": {
  "theta": {"type": "number", "default": 10000000, "exclusiveMinimum": 0,
    "description": "Base of the rotary frequencies"},
  "partial_factor": {"type": "number", "default": 0.25, "exclusiveMinimum": 0,
    "maximum": 1, "description": "Part of a head that is turned"},
  "scaling": {"type": "object", "additionalProperties": false, "properties": {
    "factor": {"type": "number", "default": 4, "minimum": 1,
      "description": "Stretch; unused with none"},
    "original_max_position": {"type": "integer", "default": 262144,
      "minimum": 1, "maximum": 1e9, "description": "llama, yarn: context before stretching"},
)json";
inline constexpr std::string_view kSchemaTail = R"json(}}}}}})json";
inline constexpr std::string_view kConfigSchema =
    layers::kJoined<kSchemaHead, layers::kRopeScalingSchema, kSchemaTail>;

struct Qwen35Config : layers::DecoderConfig {
  explicit Qwen35Config(const Config& config);

  bool is_full_attention(int64_t layer) const {
    return full_attention[static_cast<size_t>(layer)];
  }

  std::vector<bool> full_attention;  // by block; the others are linear
  layers::GatedDeltaNetConfig linear;
  layers::MoeConfig moe;  // where has_experts

  bool has_experts() const { return moe.router.num_experts > 0; }
};

/// The blocks of `full_attention_layers`: null.
std::vector<bool> every_fourth(int64_t num_layers);

}  // namespace titan::qwen3_5
