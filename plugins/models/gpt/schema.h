// SPDX-License-Identifier: BSD-3-Clause
// The options that recipes are checked against. README.md says what they make
// of the network.
#pragma once

#include <string_view>

#include "plugins/models/layers/schema.hpp"

namespace titan::gpt {

inline constexpr std::string_view kSchemaHead = R"json({
"type": "object", "additionalProperties": false, "properties": {
"dim": {"type": "integer", "default": 768, "minimum": 1, "maximum": 1e9,
  "description": "Model dimension"},
"num_layers": {"type": "integer", "default": 12, "minimum": 1, "maximum": 1e4,
  "description": "Number of blocks"},
"num_heads": {"type": "integer", "default": 12, "minimum": 1, "maximum": 1e9,
  "description": "Query heads"},
"num_kv_heads": {"type": ["integer", "null"], "default": null, "minimum": 1, "maximum": 1e9,
  "description": "Key/value heads; divides num_heads; null = num_heads"},
"head_dim": {"type": ["integer", "null"], "default": null, "minimum": 1, "maximum": 1e9,
  "description": "Head dimension; null = dim / num_heads"},
"hidden_dim": {"type": ["integer", "null"], "default": null, "minimum": 1, "maximum": 1e9,
  "description": "Hidden dimension of a dense feed-forward; null = 4 dim"},
"vocab_size": {"type": "integer", "default": 50257, "minimum": 1, "maximum": 1e9,
  "description": "Rows of the token embedding"},
"max_position": {"type": "integer", "default": 1024, "minimum": 1, "maximum": 1e9,
  "description": "Positions the model was made for; learned: rows of the table"},
"tie_embeddings": {"type": "boolean", "default": false,
  "description": "The head uses the token embedding's weight"},
"norm": {"type": "object", "additionalProperties": false, "properties": {
  "kind": {"type": "string", "default": "rms", "enum": ["rms", "layer"],
    "description": "RMSNorm or layer norm, everywhere"},
  "place": {"type": "string", "default": "pre",
    "enum": ["pre", "post", "both", "sum"],
    "description": "pre: x + f(norm(x)); post: x + norm(f(x)); both: x + norm(f(norm(x))); sum: norm(x + f(x))"},
  "eps": {"type": "number", "default": 1e-5, "minimum": 0,
    "description": "Epsilon of every norm"},
  "weight": {"type": "boolean", "default": true,
    "description": "Norms scale by a weight"},
  "bias": {"type": "boolean", "default": false,
    "description": "Norms add a bias; kind layer only"},
  "unit_offset": {"type": "boolean", "default": false,
    "description": "Weights are stored as (w - 1), as Gemma's; kind rms only"},
  "final": {"type": "boolean", "default": true,
    "description": "A norm before the head"}
}},
"positions": {"type": "object", "additionalProperties": false, "properties": {
  "kind": {"type": "string", "default": "rope",
    "enum": ["rope", "learned", "none"],
    "description": "How attention knows the order of tokens"},
  "offset": {"type": "integer", "default": 0, "minimum": 0, "maximum": 1e9,
    "description": "learned: the table's row of position 0 (OPT: 2)"}
}},
"embedding": {"type": "object", "additionalProperties": false, "properties": {
  "scale": {"type": "number", "default": 1, "exclusiveMinimum": 0,
    "description": "Factor of the token embedding's rows"},
  "times_sqrt_dim": {"type": "boolean", "default": false,
    "description": "A further factor sqrt(dim), as Gemma's"}
}},
"block": {"type": "string", "default": "sequential",
  "enum": ["sequential", "parallel", "parallel_one_norm"],
  "description": "Attention, then feed-forward; or both of the block's input, each with its norm or with one"},
"residual_scale": {"type": "number", "default": 1, "exclusiveMinimum": 0,
  "description": "Factor of what attention and feed-forward add"},
"attention": {"type": "object", "additionalProperties": false, "properties": {
  "scale": {"type": ["number", "null"], "default": null, "exclusiveMinimum": 0,
    "description": "Factor of the scores; null = scale_dim ^ -0.5"},
  "scale_dim": {"type": ["integer", "null"], "default": null, "minimum": 1, "maximum": 1e9,
    "description": "Dims that the scores are scaled for; null = head_dim"},
  "logit_cap": {"type": "number", "default": 0, "minimum": 0,
    "description": "Scores become cap * tanh(scores / cap); 0 = none"},
  "qk_norm": {"type": "string", "default": "none",
    "enum": ["none", "head", "width"],
    "description": "Norm of q and k: none, of each head, of all heads at once"},
  "window": {"type": ["integer", "null"], "default": null, "minimum": 1, "maximum": 1e9,
    "description": "Tokens that sliding attention sees, oneself too"},
  "layer_types": {"type": "array", "default": [],
    "items": {"type": "string",
      "enum": ["full_attention", "sliding_attention"]},
    "description": "Of the blocks, from the first on and over again; []: all slide where there is a window"}
}},
"latent": {"type": "object", "additionalProperties": false, "properties": {
  "kv_dim": {"type": "integer", "default": 0, "minimum": 0, "maximum": 1e9,
    "description": "Latent dims that keys and values come from (DeepSeek); 0: attention without latents"},
  "q_dim": {"type": "integer", "default": 0, "minimum": 0, "maximum": 1e9,
    "description": "Latent dims of the queries; 0: one matrix makes them"},
  "plain_dim": {"type": "integer", "default": 128, "minimum": 1, "maximum": 1e9,
    "description": "Dims of a query and a key that know no position"},
  "turned_dim": {"type": "integer", "default": 64, "minimum": 2, "maximum": 1e9,
    "description": "Their dims that turn; all heads share those of the key"},
  "value_dim": {"type": "integer", "default": 128, "minimum": 1, "maximum": 1e9,
    "description": "Dims of a value"}
}},
"feed_forward": {"type": "object", "additionalProperties": false, "properties": {
  "activation": {"type": "string", "default": "silu",
    "enum": ["silu", "gelu", "gelu_tanh", "gelu_quick", "relu", "relu_squared"],
    "description": "f in w2(f(w1 x) * (w3 x))"},
  "gated": {"type": "boolean", "default": true,
    "description": "With w3; else w2(f(w1 x))"}
}},
"bias": {"type": "object", "additionalProperties": false, "properties": {
  "qkv": {"type": "boolean", "default": false,
    "description": "Biases of wq, wk and wv"},
  "output": {"type": "boolean", "default": false,
    "description": "Bias of wo"},
  "feed_forward": {"type": "boolean", "default": false,
    "description": "Biases of w1, w2 and w3"},
  "head": {"type": "boolean", "default": false,
    "description": "Bias of the head"}
}},
"logits": {"type": "object", "additionalProperties": false, "properties": {
  "scale": {"type": "number", "default": 1, "exclusiveMinimum": 0,
    "description": "Factor of the logits"},
  "cap": {"type": "number", "default": 0, "minimum": 0,
    "description": "Logits become cap * tanh(logits / cap); 0 = none"}
}},
"moe": {"type": "object", "additionalProperties": false, "properties": {
  "num_experts": {"type": "integer", "default": 0, "minimum": 0, "maximum": 1e6,
    "description": "Experts of a block (gated silu); 0: every block is dense"},
  "top_k": {"type": "integer", "default": 2, "minimum": 1,
    "description": "Experts of a token"},
  "hidden_dim": {"type": "integer", "default": 768, "minimum": 1, "maximum": 1e9,
    "description": "Hidden dimension of an expert"},
  "score": {"type": "string", "default": "softmax",
    "enum": ["softmax", "sigmoid", "sqrt_softplus"],
    "description": "Of the router's logits"},
  "normalise": {"type": "boolean", "default": true,
    "description": "The weights of a token's experts sum to scale"},
  "scale": {"type": "number", "default": 1, "exclusiveMinimum": 0,
    "description": "Factor of those weights"},
  "gate_bias": {"type": "boolean", "default": false,
    "description": "Bias of the router's linear layer"},
  "num_groups": {"type": "integer", "default": 1, "minimum": 1,
    "description": "Groups of neighbouring experts"},
  "num_limited_groups": {"type": "integer", "default": 1, "minimum": 1,
    "description": "Groups that a token may use"},
  "group_top": {"type": "integer", "default": 2, "minimum": 1,
    "description": "Experts whose scores make a group's worth"},
  "shared_hidden_dim": {"type": "integer", "default": 0, "minimum": 0, "maximum": 1e9,
    "description": "Hidden dimension of experts that every token uses; 0: none"},
  "shared_gate": {"type": "boolean", "default": false,
    "description": "Shared experts times sigmoid of one number per token"},
  "dense_layers": {"type": "array", "default": [],
    "items": {"type": "integer", "minimum": 0},
    "description": "Blocks without experts"},
  "load_balance_coeff": {"type": ["number", "null"], "default": null,
    "exclusiveMinimum": 0,
    "description": "How far a step moves the bias of experts; null: no bias"},
  "balance_loss_coeff": {"type": "number", "default": 0, "minimum": 0,
    "description": "Of the sequence-wise balance loss; 0: none"}
}},
"init": {"type": "object", "additionalProperties": false, "properties": {
  "std": {"type": "number", "default": 0.02, "exclusiveMinimum": 0,
    "description": "Weights start in N(0, std); biases at zero"},
  "by_depth": {"type": "boolean", "default": true,
    "description": "What adds to the residual in N(0, std / sqrt(2 num_layers)), as GPT-2"}
}},
"hf": {"type": "object", "additionalProperties": false, "properties": {
  "layout": {"type": "string", "default": "titan",
    "enum": ["titan", "gpt2", "gpt_neox", "llama", "gemma2", "olmo2", "mixtral"],
    "description": "Whose names weights and config.json have outside; titan: our own"},
  "keys": {"type": "object", "default": {},
    "additionalProperties": {"type": "string"},
    "description": "More names, or others: ours -> theirs and how they lie there"},
  "ignore": {"type": "array", "items": {"type": "string"}, "default": [],
    "description": "Names that loading drops; a last * stands for any rest"}
}},
"rope": {"type": "object", "additionalProperties": false, "properties": {
  "pairs": {"type": "string", "default": "halves",
    "enum": ["halves", "adjacent"],
    "description": "Dims that turn together: (j, j + R/2) or (2j, 2j + 1)"},
  "fraction": {"type": "number", "default": 1, "exclusiveMinimum": 0,
    "maximum": 1, "description": "Share of each head's dims that turn"},
  "theta": {"type": "number", "default": 10000, "exclusiveMinimum": 0,
    "description": "Base of the rotary frequencies"},
  "sliding_theta": {"type": ["number", "null"], "default": null,
    "exclusiveMinimum": 0,
    "description": "Base in sliding blocks, without scaling; null = as the others"},
  "scaling": {"type": "object", "additionalProperties": false, "properties": {
    "factor": {"type": "number", "default": 8, "minimum": 1,
      "description": "Stretch; unused with none"},
    "original_max_position": {"type": "integer", "default": 8192, "minimum": 1, "maximum": 1e9,
      "description": "llama, yarn: context before stretching"},
)json";
inline constexpr std::string_view kSchemaTail = R"json(}}}}}})json";
inline constexpr std::string_view kConfigSchema =
    layers::kJoined<kSchemaHead, layers::kRopeScalingSchema, kSchemaTail>;

}  // namespace titan::gpt
