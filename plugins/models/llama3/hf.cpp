// SPDX-License-Identifier: BSD-3-Clause
// Hugging Face's LlamaForCausalLM: config.json both ways, and key rules. Their
// rope turns halves of a head, ours adjacent pairs, so rows of q and k are
// permuted.
#include <array>

#include "plugins/models/llama3/model.h"

namespace titan::llama3 {

// Defaults are those of transformers' LlamaConfig.
Json Llama3::config_from_hf(const Json& hf) {
  const std::string activation = hf.str_or("hidden_act", "silu");
  TITAN_USER_CHECK(activation == "silu",
                   "[config.json hidden_act] Llama is a SwiGLU model: expected "
                   "silu, got ",
                   activation);
  TITAN_USER_CHECK(hf.f64_or("partial_rotary_factor", 1) == 1,
                   "[config.json partial_rotary_factor] Llama turns whole "
                   "heads: expected 1, got ",
                   hf.f64_or("partial_rotary_factor", 1));
  const int64_t num_heads = hf.at("num_attention_heads").i64();
  Json out = Json::object();
  out["dim"] = hf.at("hidden_size");
  out["num_layers"] = hf.at("num_hidden_layers");
  out["num_heads"] = num_heads;
  out["num_kv_heads"] = hf.i64_or("num_key_value_heads", num_heads);
  if (hf.has("head_dim")) out["head_dim"] = hf.at("head_dim");
  out["hidden_dim"] = hf.at("intermediate_size");
  out["vocab_size"] = hf.at("vocab_size");
  out["norm_eps"] = hf.f64_or("rms_norm_eps", 1e-6);
  out["tie_embeddings"] = hf.flag_or("tie_word_embeddings", false);
  out["max_position"] = hf.i64_or("max_position_embeddings", 2048);
  out["attention_bias"] = hf.flag_or("attention_bias", false);
  out["mlp_bias"] = hf.flag_or("mlp_bias", false);
  out["rope"] = layers::rope_from_hf(hf, 10000);
  return out;
}

Json Llama3::config_to_hf() const {
  const LlamaConfig& c = config_;
  Json out = Json::object();
  out["architectures"] = Json::array({"LlamaForCausalLM"});
  out["model_type"] = "llama";
  out["hidden_act"] = "silu";
  out["hidden_size"] = c.dim;
  out["num_hidden_layers"] = c.num_layers;
  out["num_attention_heads"] = c.num_heads;
  out["num_key_value_heads"] = c.num_kv_heads;
  out["head_dim"] = c.head_dim;
  out["intermediate_size"] = c.hidden_dim;
  out["vocab_size"] = c.vocab_size;
  out["rms_norm_eps"] = c.norm_eps;
  out["tie_word_embeddings"] = c.tie_embeddings;
  out["max_position_embeddings"] = c.max_position;
  out["attention_bias"] = c.attention_bias;
  out["mlp_bias"] = c.mlp_bias;
  out["rope_parameters"] = layers::rope_to_hf(c.rope);
  // The form that transformers 4 reads.
  out["rope_theta"] = c.rope.theta;
  if (c.rope.scaling != "none")
    out["rope_scaling"] = layers::rope_to_hf(c.rope);
  return out;
}

namespace {

/// Weight and, where the layer has one, bias.
template <typename Add>
void each_tensor(bool has_bias, Add add) {
  add(std::string(".weight"));
  if (has_bias) add(std::string(".bias"));
}

void attention_keys(Keys& keys, const LlamaConfig& c) {
  const std::string native = "layers.{i}.attention.";
  const std::string hf = "model.layers.{i}.self_attn.";
  each_tensor(c.attention_bias, [&](const std::string& tensor) {
    keys.rope_rows(
        native + "qkv_linear.wq" + tensor, hf + "q_proj" + tensor, c.head_dim);
    keys.rope_rows(
        native + "qkv_linear.wk" + tensor, hf + "k_proj" + tensor, c.head_dim);
    keys.identity(native + "qkv_linear.wv" + tensor, hf + "v_proj" + tensor);
    keys.identity(native + "wo" + tensor, hf + "o_proj" + tensor);
  });
  keys.ignore(hf + "rotary_emb.inv_freq");
}

void feed_forward_keys(Keys& keys, const LlamaConfig& c) {
  const std::string native = "layers.{i}.feed_forward.";
  const std::string hf = "model.layers.{i}.mlp.";
  each_tensor(c.mlp_bias, [&](const std::string& tensor) {
    keys.identity(native + "w1" + tensor, hf + "gate_proj" + tensor);
    keys.identity(native + "w2" + tensor, hf + "down_proj" + tensor);
    keys.identity(native + "w3" + tensor, hf + "up_proj" + tensor);
  });
}

}  // namespace

void Llama3::describe_keys(Keys& keys) const {
  keys.identity("tok_embeddings.weight", "model.embed_tokens.weight");
  attention_keys(keys, config_);
  feed_forward_keys(keys, config_);
  keys.identity("layers.{i}.attention_norm.weight",
                "model.layers.{i}.input_layernorm.weight");
  keys.identity("layers.{i}.ffn_norm.weight",
                "model.layers.{i}.post_attention_layernorm.weight");
  keys.identity("norm.weight", "model.norm.weight");
  // Some tied checkpoints store the head a second time.
  if (config_.tie_embeddings)
    keys.ignore("lm_head.weight");
  else
    keys.identity("lm_head.weight", "lm_head.weight");
}

}  // namespace titan::llama3
