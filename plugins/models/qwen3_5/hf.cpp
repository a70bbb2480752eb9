// SPDX-License-Identifier: BSD-3-Clause
// Hugging Face's Qwen3_5ForCausalLM and Qwen3_5MoeForCausalLM, and the text
// model inside their ...ForConditionalGeneration: config.json both ways, and
// key rules. Both sides turn halves of a head, so nothing is permuted; theirs
// has q, k and v of linear attention in one projection and one convolution.
#include "plugins/models/layers/decoder_hf.hpp"
#include "plugins/models/layers/decoder_keys.hpp"
#include "plugins/models/layers/moe_hf.hpp"
#include "plugins/models/qwen3_5/model.h"

namespace titan::qwen3_5 {
namespace {

constexpr const char* kLinear = "linear_attention";
constexpr const char* kFull = "full_attention";

bool is_moe(const layers::HfConfig& hf) {
  return hf.str("model_type", "").starts_with("qwen3_5_moe");
}

layers::HfDefaults defaults_of(bool is_moe) {
  if (is_moe)
    return {.dim = 2048,
            .hidden_dim = 512,  // of no block
            .num_layers = 40,
            .num_heads = 16,
            .num_kv_heads = 2,
            .vocab_size = 248320,
            .max_position = 32768};
  return {.dim = 4096,
          .hidden_dim = 12288,
          .num_layers = 32,
          .num_heads = 16,
          .num_kv_heads = 4,
          .vocab_size = 248320,
          .max_position = 32768};
}

/// "layer_types", else every "full_attention_interval"-th; null where that is
/// every fourth.
Json full_attention_from_hf(const layers::HfConfig& hf, int64_t num_layers) {
  std::vector<bool> is_full;
  if (hf.has("layer_types")) {
    is_full = layers::layers_of_type(hf, num_layers, kFull, kLinear);
  } else {
    const int64_t interval = hf.size("full_attention_interval", 4);
    for (int64_t layer = 0; layer < num_layers; ++layer)
      is_full.push_back((layer + 1) % interval == 0);
  }
  if (is_full == every_fourth(num_layers)) return Json();
  return layers::layer_numbers(is_full);
}

Json linear_from_hf(const layers::HfConfig& hf) {
  Json out = Json::object();
  out["num_key_heads"] = hf.i64("linear_num_key_heads", 16);
  out["num_value_heads"] = hf.i64("linear_num_value_heads", 32);
  out["key_head_dim"] = hf.i64("linear_key_head_dim", 128);
  out["value_head_dim"] = hf.i64("linear_value_head_dim", 128);
  out["conv_taps"] = hf.i64("linear_conv_kernel_dim", 4);
  return out;
}

Json moe_from_hf(const layers::HfConfig& hf) {
  Json out = layers::moe_from_hf(hf, 256, 512);
  out["shared_hidden_dim"] = hf.i64("shared_expert_intermediate_size", 512);
  return out;
}

}  // namespace

// Defaults are those of transformers' Qwen3_5TextConfig and
// Qwen3_5MoeTextConfig. The text model of a vision-language one stands under
// text_config; its head may be tied there or around it.
Json Qwen35::config_from_hf(const Json& json) {
  const layers::HfConfig hf(json);
  const layers::HfConfig text(hf.has("text_config") ? json.at("text_config")
                                                    : json);
  text.require("attn_output_gate", true, "attention has an output gate");
  const bool has_experts = is_moe(hf) || is_moe(text);
  Json out = layers::decoder_from_hf(text, defaults_of(has_experts));
  out["rope"]["partial_factor"] = layers::turned_part(text, 0.25);
  if (has_experts) out["moe"] = moe_from_hf(text);
  out["head_dim"] = text.i64("head_dim", 256);
  out["tie_embeddings"] =
      hf.flag("tie_word_embeddings", text.flag("tie_word_embeddings", false));
  out["full_attention_layers"] =
      full_attention_from_hf(text, out.at("num_layers").i64());
  out["linear_attention"] = linear_from_hf(text);
  return out;
}

Json Qwen35::config_to_hf() const {
  const Qwen35Config& c = config_;
  const char* const type =
      c.has_experts() ? "qwen3_5_moe_text" : "qwen3_5_text";
  if (c.has_experts()) layers::check_no_expert_bias(c.moe, type);
  Json out = layers::decoder_to_hf(
      c,
      c.has_experts() ? "Qwen3_5MoeForCausalLM" : "Qwen3_5ForCausalLM",
      type);
  // Thirds of the pairs; without images all three turn alike.
  const int64_t pairs = c.rope.rotary_dim / 2;
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    if (!out.has(key)) continue;
    Json& rope = out[key];
    rope["partial_rotary_factor"] = static_cast<double>(c.rope.rotary_dim) /
                                    static_cast<double>(c.head_dim);
    rope["mrope_section"] =
        Json::array({(pairs + 2) / 3, (pairs + 1) / 3, pairs / 3});
    rope["mrope_interleaved"] = true;
  }
  out["layer_types"] = layers::layer_types(c.full_attention, kFull, kLinear);
  out["linear_num_key_heads"] = c.linear.num_key_heads;
  out["linear_num_value_heads"] = c.linear.num_value_heads;
  out["linear_key_head_dim"] = c.linear.key_head_dim;
  out["linear_value_head_dim"] = c.linear.value_head_dim;
  out["linear_conv_kernel_dim"] = c.linear.conv_taps;
  if (!c.has_experts()) return out;
  layers::add_moe_to_hf(c.moe, out);
  out["shared_expert_intermediate_size"] = c.moe.shared_hidden_dim;
  return out;
}

namespace {

void shared_expert_keys(Keys& keys, const layers::BlockNames& block) {
  const std::string native = block.native + "moe.shared_experts.";
  const std::string hf = block.hf + "mlp.shared_expert";
  layers::feed_forward_keys(keys, /*has_bias=*/false, native, hf + ".");
  keys.identity(native + "gate.weight", hf + "_gate.weight");
}

void delta_net_keys(Keys& keys,
                    const Qwen35Config& c,
                    const layers::BlockNames& block) {
  const std::string native = block.native + "attn.";
  const std::string hf = block.hf + "linear_attn.";
  const int64_t key_dim = c.linear.key_dim();
  const int64_t whole = 2 * key_dim + c.linear.value_dim();
  const auto part = [&](const char* name, int64_t begin) {
    keys.slice(text(native, "in_proj_", name, ".weight"),
               hf + "in_proj_qkv.weight",
               begin,
               whole);
    keys.slice(text(native, "conv_", name, ".weight"),
               hf + "conv1d.weight",
               begin,
               whole);
  };
  part("q", 0);
  part("k", key_dim);
  part("v", 2 * key_dim);
  for (const char* name : {"in_proj_z.weight",
                           "in_proj_a.weight",
                           "in_proj_b.weight",
                           "A_log",
                           "dt_bias",
                           "norm.weight",
                           "out_proj.weight"})
    keys.identity(native + name, hf + name);
}

void text_keys(Keys& keys, const Qwen35Config& c, const std::string& prefix) {
  const layers::BlockNames block{.hf = prefix + "layers.{i}."};
  layers::decoder_keys(keys, c.tie_embeddings, prefix);
  layers::attention_keys(keys,
                         {.has_bias = c.attention_bias,
                          .has_qk_norm = true,
                          .name = "attn",
                          .qkv_name = "",
                          .block = block});
  delta_net_keys(keys, c, block);
  if (c.has_experts()) {
    layers::moe_keys(keys, block);
    shared_expert_keys(keys, block);
  } else {
    layers::feed_forward_keys(keys, /*has_bias=*/false, block);
  }
}

}  // namespace

// Beside the text model, published checkpoints have a vision tower and layers
// for prediction.
void Qwen35::describe_keys(Keys& keys) const {
  text_keys(keys, config_, "model.");
  Keys inside = keys.alternative();
  text_keys(inside, config_, "model.language_model.");
  keys.ignore("model.visual.*");
  keys.ignore("mtp.*");
}

}  // namespace titan::qwen3_5
