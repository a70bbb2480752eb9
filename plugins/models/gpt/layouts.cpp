// SPDX-License-Identifier: BSD-3-Clause
// The layouts: llama's, those that say what they have other than it, and two of
// their own. Exports name no padding: transformers trains no row of it, and
// some families have one by default.
#include "plugins/models/gpt/layouts.h"

#include <string>

namespace titan::gpt {
namespace {

// clang-format off
constexpr std::string_view kLlama = R"json({
"model_type": "llama", "architecture": "LlamaForCausalLM", "options": {},
"config": {
  "dim": ["hidden_size", 4096], "num_layers": ["num_hidden_layers", 32],
  "num_heads": ["num_attention_heads", 32],
  "num_kv_heads": ["num_key_value_heads", null], "head_dim": ["head_dim", null],
  "hidden_dim": ["intermediate_size", 11008], "vocab_size": ["vocab_size", 32000],
  "norm.eps": ["rms_norm_eps", 1e-6],
  "tie_embeddings": ["tie_word_embeddings", false],
  "max_position": ["max_position_embeddings", 2048],
  "bias.qkv": ["attention_bias", false],
  "bias.output": ["attention_bias", false],
  "bias.feed_forward": ["mlp_bias", false],
  "feed_forward.activation": ["hidden_act", "silu"]},
"rope": {"theta": 10000}, "heads_divide_dim": true,
"require": {"attention_dropout": 0.0}, "write": {"pad_token_id": null},
"keys": {
  "embedding.tokens.weight": "model.embed_tokens.weight",
  "layers.{i}.attention_norm.*": "model.layers.{i}.input_layernorm.*",
  "layers.{i}.attention.qkv_linear.wq.*": "model.layers.{i}.self_attn.q_proj.*",
  "layers.{i}.attention.qkv_linear.wk.*": "model.layers.{i}.self_attn.k_proj.*",
  "layers.{i}.attention.qkv_linear.wv.*": "model.layers.{i}.self_attn.v_proj.*",
  "layers.{i}.attention.wo.*": "model.layers.{i}.self_attn.o_proj.*",
  "layers.{i}.ffn_norm.*": "model.layers.{i}.post_attention_layernorm.*",
  "layers.{i}.feed_forward.w1.*": "model.layers.{i}.mlp.gate_proj.*",
  "layers.{i}.feed_forward.w2.*": "model.layers.{i}.mlp.down_proj.*",
  "layers.{i}.feed_forward.w3.*": "model.layers.{i}.mlp.up_proj.*",
  "norm.*": "model.norm.*", "lm_head.*": "lm_head.*"},
"ignore": ["model.layers.{i}.self_attn.rotary_emb.inv_freq"]})json";

constexpr std::string_view kGemma2 = R"json({
"model_type": "gemma2", "architecture": "Gemma2ForCausalLM",
"options": {"norm": {"place": "both", "unit_offset": true},
            "embedding": {"times_sqrt_dim": true}},
"config": {
  "dim": ["hidden_size", 2304], "num_layers": ["num_hidden_layers", 26],
  "num_heads": ["num_attention_heads", 8],
  "num_kv_heads": ["num_key_value_heads", 4], "head_dim": ["head_dim", 256],
  "hidden_dim": ["intermediate_size", 9216], "vocab_size": ["vocab_size", 256000],
  "tie_embeddings": ["tie_word_embeddings", true],
  "max_position": ["max_position_embeddings", 8192],
  "feed_forward.activation": ["hidden_activation", "gelu_pytorch_tanh"],
  "bias.feed_forward": null,
  "attention.scale_dim": ["query_pre_attn_scalar", 256],
  "attention.logit_cap": ["attn_logit_softcapping", 50.0, {"null": 0}],
  "attention.window": ["sliding_window", 4096],
  "attention.layer_types":
    ["layer_types", ["sliding_attention", "full_attention"]],
  "logits.cap": ["final_logit_softcapping", 30.0, {"null": 0}]},
"require": {"use_bidirectional_attention": false},
"keys": {
  "layers.{i}.attention_post_norm.*": "model.layers.{i}.post_attention_layernorm.*",
  "layers.{i}.ffn_norm.*": "model.layers.{i}.pre_feedforward_layernorm.*",
  "layers.{i}.ffn_post_norm.*": "model.layers.{i}.post_feedforward_layernorm.*"}
})json";

constexpr std::string_view kOlmo2 = R"json({
"model_type": "olmo2", "architecture": "Olmo2ForCausalLM",
"options": {"norm": {"place": "post"}, "attention": {"qk_norm": "width"}},
"config": {"bias.feed_forward": null, "vocab_size": ["vocab_size", 50304],
  "norm.eps": ["rms_norm_eps", 1e-5]},
"heads_divide_dim": null,
"keys": {
  "layers.{i}.attention_norm.*": "model.layers.{i}.post_attention_layernorm.*",
  "layers.{i}.attention.q_norm.*": "model.layers.{i}.self_attn.q_norm.*",
  "layers.{i}.attention.k_norm.*": "model.layers.{i}.self_attn.k_norm.*",
  "layers.{i}.ffn_norm.*": "model.layers.{i}.post_feedforward_layernorm.*"}
})json";

constexpr std::string_view kMixtral = R"json({
"model_type": "mixtral", "architecture": "MixtralForCausalLM",
"config": {
  "num_kv_heads": ["num_key_value_heads", 8], "hidden_dim": null,
  "norm.eps": ["rms_norm_eps", 1e-5],
  "max_position": ["max_position_embeddings", 131072],
  "bias.qkv": null, "bias.output": null, "bias.feed_forward": null,
  "feed_forward.activation": null,
  "attention.window": ["sliding_window", null],
  "moe.num_experts": ["num_local_experts", 8],
  "moe.top_k": ["num_experts_per_tok", 2],
  "moe.hidden_dim": ["intermediate_size", 14336]},
"rope": {"theta": 1000000}, "heads_divide_dim": null,
"least": {"moe.num_experts": 1},
"aliases": {"num_experts": "num_local_experts"},
"require": {"hidden_act": "silu", "output_router_logits": false,
            "router_jitter_noise": 0.0},
"keys": {
  "layers.{i}.moe.router.gate.weight": "model.layers.{i}.block_sparse_moe.gate.weight",
  "layers.{i}.moe.routed_experts.inner_experts.w1_EFD": "model.layers.{i}.block_sparse_moe.experts.{e}.w1.weight",
  "layers.{i}.moe.routed_experts.inner_experts.w2_EDF": "model.layers.{i}.block_sparse_moe.experts.{e}.w2.weight",
  "layers.{i}.moe.routed_experts.inner_experts.w3_EFD": "model.layers.{i}.block_sparse_moe.experts.{e}.w3.weight"}
})json";

constexpr std::string_view kGptNeox = R"json({
"model_type": "gpt_neox", "architecture": "GPTNeoXForCausalLM",
"options": {"norm": {"kind": "layer", "bias": true},
            "feed_forward": {"gated": false}, "bias": {"feed_forward": true}},
"config": {
  "dim": ["hidden_size", 6144], "num_layers": ["num_hidden_layers", 44],
  "num_heads": ["num_attention_heads", 64],
  "hidden_dim": ["intermediate_size", 24576], "vocab_size": ["vocab_size", 50432],
  "num_kv_heads": null, "head_dim": null, "bias.feed_forward": null,
  "norm.eps": ["layer_norm_eps", 1e-5],
  "bias.qkv": ["attention_bias", true], "bias.output": ["attention_bias", true],
  "feed_forward.activation": ["hidden_act", "gelu"],
  "block": ["use_parallel_residual", true,
            {"true": "parallel", "false": "sequential"}]},
"rope": {"fraction": 0.25, "fraction_key": "rotary_pct",
         "theta_key": "rotary_emb_base"},
"require": {"hidden_dropout": 0.0},
"keys": {
  "embedding.tokens.weight": "gpt_neox.embed_in.weight",
  "layers.{i}.attention_norm.*": "gpt_neox.layers.{i}.input_layernorm.*",
  "layers.{i}.attention.qkv_linear.wq.*": "gpt_neox.layers.{i}.attention.query_key_value.* | part 0 of 3 per head",
  "layers.{i}.attention.qkv_linear.wk.*": "gpt_neox.layers.{i}.attention.query_key_value.* | part 1 of 3 per head",
  "layers.{i}.attention.qkv_linear.wv.*": "gpt_neox.layers.{i}.attention.query_key_value.* | part 2 of 3 per head",
  "layers.{i}.attention.wo.*": "gpt_neox.layers.{i}.attention.dense.*",
  "layers.{i}.ffn_norm.*": "gpt_neox.layers.{i}.post_attention_layernorm.*",
  "layers.{i}.feed_forward.w1.*": "gpt_neox.layers.{i}.mlp.dense_h_to_4h.*",
  "layers.{i}.feed_forward.w2.*": "gpt_neox.layers.{i}.mlp.dense_4h_to_h.*",
  "norm.*": "gpt_neox.final_layer_norm.*", "lm_head.*": "embed_out.*"},
"ignore": ["gpt_neox.layers.{i}.attention.bias",
           "gpt_neox.layers.{i}.attention.masked_bias",
           "gpt_neox.layers.{i}.attention.rotary_emb.inv_freq"]})json";

// Dropout is not required to be 0, published files have 0.1; but an export says
// what it was trained with.
constexpr std::string_view kGpt2 = R"json({
"model_type": "gpt2", "architecture": "GPT2LMHeadModel",
"options": {"norm": {"kind": "layer", "bias": true},
            "positions": {"kind": "learned"}, "feed_forward": {"gated": false},
            "bias": {"qkv": true, "output": true, "feed_forward": true}},
"config": {
  "dim": ["n_embd", 768], "num_layers": ["n_layer", 12],
  "num_heads": ["n_head", 12],
  "hidden_dim": ["n_inner", null], "vocab_size": ["vocab_size", 50257],
  "norm.eps": ["layer_norm_epsilon", 1e-5],
  "tie_embeddings": ["tie_word_embeddings", true],
  "max_position": ["n_positions", 1024],
  "feed_forward.activation": ["activation_function", "gelu_new"]},
"heads_divide_dim": true,
"aliases": {"hidden_size": "n_embd", "max_position_embeddings": "n_positions",
            "num_attention_heads": "n_head", "num_hidden_layers": "n_layer"},
"require": {"scale_attn_weights": true, "add_cross_attention": false,
            "scale_attn_by_inverse_layer_idx": false},
"write": {"attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0,
          "pad_token_id": null},
"keys": {
  "embedding.tokens.weight": "transformer.wte.weight",
  "embedding.positions.weight": "transformer.wpe.weight",
  "layers.{i}.attention_norm.*": "transformer.h.{i}.ln_1.*",
  "layers.{i}.attention.qkv_linear.wq.*": "transformer.h.{i}.attn.c_attn.* | transposed | part 0 of 3",
  "layers.{i}.attention.qkv_linear.wk.*": "transformer.h.{i}.attn.c_attn.* | transposed | part 1 of 3",
  "layers.{i}.attention.qkv_linear.wv.*": "transformer.h.{i}.attn.c_attn.* | transposed | part 2 of 3",
  "layers.{i}.attention.wo.*": "transformer.h.{i}.attn.c_proj.* | transposed",
  "layers.{i}.ffn_norm.*": "transformer.h.{i}.ln_2.*",
  "layers.{i}.feed_forward.w1.*": "transformer.h.{i}.mlp.c_fc.* | transposed",
  "layers.{i}.feed_forward.w2.*": "transformer.h.{i}.mlp.c_proj.* | transposed",
  "norm.*": "transformer.ln_f.*", "lm_head.*": "lm_head.*"},
"ignore": ["transformer.h.{i}.attn.bias", "transformer.h.{i}.attn.masked_bias"]
})json";
// clang-format on

/// Members of `more` go into `base`, maps into maps; a null takes one out.
void merge(Json& base, const Json& more) {
  Json out = Json::object();
  for (const auto& [key, value] : base.members())
    if (more.find(key) == nullptr) out[key] = value;
  for (const auto& [key, value] : more.members()) {
    if (value.is_null()) continue;
    const Json* const old = base.find(key);
    Json& place = out[key];
    place = value;
    if (old == nullptr || !old->is_object() || !value.is_object()) continue;
    place = *old;
    merge(place, value);
  }
  base = std::move(out);
}

/// Llama's with what `text` says.
Json like_llama(std::string_view text) {
  Json out = Json::parse(kLlama);
  merge(out, Json::parse(text));
  return out;
}

}  // namespace

Json layout_named(std::string_view name) {
  if (name == "llama") return Json::parse(kLlama);
  if (name == "gemma2") return like_llama(kGemma2);
  if (name == "olmo2") return like_llama(kOlmo2);
  if (name == "mixtral") return like_llama(kMixtral);
  if (name == "gpt_neox") {
    Json out = like_llama(kGptNeox);
    out["keys"] = Json::parse(kGptNeox).at("keys");
    return out;
  }
  TITAN_USER_CHECK(name == "gpt2",
                   "[model.hf.layout] is not known: expected gpt2, gpt_neox, "
                   "llama, gemma2, olmo2 or mixtral, got ",
                   name);
  return Json::parse(kGpt2);
}

}  // namespace titan::gpt
