// SPDX-License-Identifier: BSD-3-Clause
// Llama 3's configuration: the schema that recipes are checked against, and its
// struct.
#pragma once

#include <string_view>

#include <titan/sdk/config.hpp>

#include "plugins/models/layers/rope.hpp"

namespace titan::llama3 {

inline constexpr std::string_view kConfigSchema = R"json({
"type": "object", "additionalProperties": false, "properties": {
"dim": {"type": "integer", "default": 4096, "minimum": 1,
  "description": "Model dimension"},
"num_layers": {"type": "integer", "default": 32, "minimum": 1,
  "description": "Number of blocks"},
"num_heads": {"type": "integer", "default": 32, "minimum": 1,
  "description": "Query heads"},
"num_kv_heads": {"type": "integer", "default": 8, "minimum": 1,
  "description": "Key/value heads; divides num_heads"},
"head_dim": {"type": ["integer", "null"], "default": null, "minimum": 2,
  "description": "Head dimension; null = dim / num_heads"},
"hidden_dim": {"type": "integer", "default": 14336, "minimum": 1,
  "description": "Feed-forward hidden dimension"},
"vocab_size": {"type": "integer", "default": 128256, "minimum": 1,
  "description": "Rows of the token embedding"},
"norm_eps": {"type": "number", "default": 1e-5, "minimum": 0,
  "description": "Epsilon of every RMSNorm"},
"tie_embeddings": {"type": "boolean", "default": false,
  "description": "The head uses the token embedding's weight"},
"max_position": {"type": "integer", "default": 131072, "minimum": 1,
  "description": "Positions the model was made for"},
"attention_bias": {"type": "boolean", "default": false,
  "description": "Biases of wq, wk, wv and wo"},
"mlp_bias": {"type": "boolean", "default": false,
  "description": "Biases of w1, w2 and w3"},
"rope": {"type": "object", "additionalProperties": false, "properties": {
  "theta": {"type": "number", "default": 500000, "exclusiveMinimum": 0,
    "description": "Base of the rotary frequencies"},
  "scaling": {"type": "object", "additionalProperties": false, "properties": {
    "type": {"type": "string", "default": "none",
      "enum": ["none", "llama", "linear", "yarn"],
      "description": "How frequencies are stretched to longer contexts"},
    "factor": {"type": "number", "default": 8, "minimum": 1,
      "description": "Stretch; unused with none"},
    "low_freq_factor": {"type": "number", "default": 1, "exclusiveMinimum": 0,
      "description": "llama: wavelengths above original / this are stretched"},
    "high_freq_factor": {"type": "number", "default": 4, "exclusiveMinimum": 0,
      "description": "llama: wavelengths below original / this are kept"},
    "original_max_position": {"type": "integer", "default": 8192, "minimum": 1,
      "description": "llama, yarn: context before stretching"},
    "beta_fast": {"type": "number", "default": 32, "exclusiveMinimum": 0,
      "description": "yarn: rotations above which a frequency is kept"},
    "beta_slow": {"type": "number", "default": 1, "exclusiveMinimum": 0,
      "description": "yarn: rotations below which it is stretched fully"},
    "truncate": {"type": "boolean", "default": true,
      "description": "yarn: round the ramp's bounds to whole dimensions"},
    "attention_factor": {"type": ["number", "null"], "default": null,
      "exclusiveMinimum": 0,
      "description": "yarn: factor of q and k; null = 0.1 ln(factor) + 1"}
  }}
}}
}})json";

struct LlamaConfig {
  explicit LlamaConfig(const Config& config);

  int64_t dim;
  int64_t num_layers;
  int64_t num_heads;
  int64_t num_kv_heads;
  int64_t head_dim;
  int64_t hidden_dim;
  int64_t vocab_size;
  double norm_eps;
  bool tie_embeddings;
  int64_t max_position;
  bool attention_bias;
  bool mlp_bias;
  layers::RopeConfig rope;

  /// All trainable elements, a tied weight once.
  int64_t num_parameters() const;
};

}  // namespace titan::llama3
