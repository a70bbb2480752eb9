// SPDX-License-Identifier: BSD-3-Clause
// Llama 3's configuration: the schema that recipes are checked against, and its
// struct.
#pragma once

#include <string_view>

#include <titan/sdk/config.hpp>

#include "plugins/models/layers/decoder_config.hpp"
#include "plugins/models/layers/schema.hpp"

namespace titan::llama3 {

inline constexpr std::string_view kSchemaHead = R"json({
"type": "object", "additionalProperties": false, "properties": {
"dim": {"type": "integer", "default": 4096, "minimum": 1, "maximum": 1e9,
  "description": "Model dimension"},
"num_layers": {"type": "integer", "default": 32, "minimum": 1, "maximum": 1e4,
  "description": "Number of blocks"},
"num_heads": {"type": "integer", "default": 32, "minimum": 1, "maximum": 1e9,
  "description": "Query heads"},
"num_kv_heads": {"type": "integer", "default": 8, "minimum": 1, "maximum": 1e9,
  "description": "Key/value heads; divides num_heads"},
"head_dim": {"type": ["integer", "null"], "default": null, "minimum": 2, "maximum": 1e9,
  "description": "Head dimension; null = dim / num_heads"},
"hidden_dim": {"type": "integer", "default": 14336, "minimum": 1, "maximum": 1e9,
  "description": "Feed-forward hidden dimension"},
"vocab_size": {"type": "integer", "default": 128256, "minimum": 1, "maximum": 1e9,
  "description": "Rows of the token embedding"},
"norm_eps": {"type": "number", "default": 1e-5, "minimum": 0,
  "description": "Epsilon of every RMSNorm"},
"tie_embeddings": {"type": "boolean", "default": false,
  "description": "The head uses the token embedding's weight"},
"max_position": {"type": "integer", "default": 131072, "minimum": 1, "maximum": 1e9,
  "description": "Positions the model was made for"},
"attention_bias": {"type": "boolean", "default": false,
  "description": "Biases of wq, wk, wv and wo"},
"mlp_bias": {"type": "boolean", "default": false,
  "description": "Biases of w1, w2 and w3"},
"rope": {"type": "object", "additionalProperties": false, "properties": {
  "theta": {"type": "number", "default": 500000, "exclusiveMinimum": 0,
    "description": "Base of the rotary frequencies"},
  "scaling": {"type": "object", "additionalProperties": false, "properties": {
    "factor": {"type": "number", "default": 8, "minimum": 1,
      "description": "Stretch; unused with none"},
    "original_max_position": {"type": "integer", "default": 8192, "minimum": 1, "maximum": 1e9,
      "description": "llama, yarn: context before stretching"},
)json";
inline constexpr std::string_view kSchemaTail = R"json(}}}}}})json";
inline constexpr std::string_view kConfigSchema =
    layers::kJoined<kSchemaHead, layers::kRopeScalingSchema, kSchemaTail>;

struct LlamaConfig : layers::DecoderConfig {
  explicit LlamaConfig(const Config& config);

  bool mlp_bias;  // of w1, w2 and w3
};

}  // namespace titan::llama3
