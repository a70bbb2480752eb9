// SPDX-License-Identifier: BSD-3-Clause
// Hugging Face's Qwen3ForCausalLM and Qwen3MoeForCausalLM: config.json both
// ways, and key rules. Both sides turn halves of a head, so nothing is
// permuted.
#include "plugins/models/layers/decoder_hf.hpp"
#include "plugins/models/layers/decoder_keys.hpp"
#include "plugins/models/layers/moe_hf.hpp"
#include "plugins/models/qwen3/model.h"

namespace titan::qwen3 {
namespace {

constexpr const char* kSliding = "sliding_attention";
constexpr const char* kFull = "full_attention";

// Keys of config.json that change the network and that this one does not have.
constexpr const char* kUnsupported[] = {"dual_chunk_attention_config",
                                        "sparse_attention_config"};

bool is_moe(const layers::HfConfig& hf) {
  return hf.str("model_type", "qwen3") == "qwen3_moe";
}

layers::HfDefaults defaults_of(bool is_moe) {
  if (is_moe)
    return {.dim = 2048,
            .hidden_dim = 6144,
            .num_layers = 24,
            .num_heads = 32,
            .num_kv_heads = 4,
            .vocab_size = 151936,
            .max_position = 32768};
  return {.dim = 4096,
          .hidden_dim = 22016,
          .num_layers = 32,
          .num_heads = 32,
          .num_kv_heads = 32,
          .vocab_size = 151936,
          .max_position = 32768};
}

/// "layer_types", else the blocks from max_window_layers on; with experts all.
Json sliding_layers_from_hf(const layers::HfConfig& hf,
                            int64_t num_layers,
                            bool has_window) {
  if (!is_moe(hf) && hf.has("layer_types"))
    return layers::layer_numbers(
        layers::layers_of_type(hf, num_layers, kSliding, kFull));
  const int64_t first = is_moe(hf) ? 0 : hf.i64("max_window_layers", 28);
  Json out = Json::array();
  for (int64_t layer = first; has_window && layer < num_layers; ++layer)
    out.push_back(layer);
  return out;
}

void add_window_from_hf(const layers::HfConfig& hf, Json& out) {
  const bool has_window =
      hf.flag("use_sliding_window", false) && !hf.is_null("sliding_window");
  Json layers =
      sliding_layers_from_hf(hf, out.at("num_layers").i64(), has_window);
  if (layers.size() == 0) return;
  TITAN_USER_CHECK(has_window,
                   "[config.json use_sliding_window] layer_types has sliding "
                   "attention: expected true and a sliding_window, got none");
  out["sliding_window"] = hf.i64("sliding_window", 4096);
  out["sliding_layers"] = std::move(layers);
}

// Where transformers says which blocks have the window: nowhere for models with
// experts, whose blocks all have it or none.
void add_window_layers_to_hf(const Qwen3Config& c, Json& out) {
  int64_t num_full = c.num_layers;
  while (num_full > 0 && c.is_sliding(num_full - 1)) --num_full;
  if (c.has_experts()) {
    TITAN_USER_CHECK(c.sliding_window == 0 || num_full == 0,
                     "[model.sliding_layers] Hugging Face's qwen3_moe has one "
                     "window for all blocks: expected all to be exported, got "
                     "full attention in block ",
                     num_full - 1);
    return;
  }
  out["layer_types"] = layers::layer_types(c.is_sliding_layer, kSliding, kFull);
  // What transformers before layer_types reads: full attention up to here.
  out["max_window_layers"] = num_full;
}

void add_window_to_hf(const Qwen3Config& c, Json& out) {
  const bool has_window = c.sliding_window != 0;
  out["use_sliding_window"] = has_window;
  out["sliding_window"] = has_window ? Json(c.sliding_window) : Json();
  add_window_layers_to_hf(c, out);
}

Json moe_from_hf(const layers::HfConfig& hf) {
  Json out = layers::moe_from_hf(hf, 128, 768);
  out["normalise"] = hf.flag("norm_topk_prob", false);
  out["sparse_step"] = hf.i64("decoder_sparse_step", 1);
  if (hf.has("mlp_only_layers"))
    out["dense_layers"] = hf.json().at("mlp_only_layers");
  return out;
}

void add_moe_to_hf(const Qwen3Config& c, Json& out) {
  layers::add_moe_to_hf(c.moe, out);
  out["num_local_experts"] = c.moe.router.num_experts;
  out["norm_topk_prob"] = c.moe.router.normalise;
  out["decoder_sparse_step"] = c.sparse_step;
  out["mlp_only_layers"] = layers::layer_numbers(c.is_dense_layer);
}

}  // namespace

// Defaults are those of transformers' Qwen3Config and Qwen3MoeConfig.
Json Qwen3::config_from_hf(const Json& json) {
  const layers::HfConfig hf(json);
  for (const char* key : kUnsupported)
    TITAN_USER_CHECK(!hf.has(key),
                     "[config.json ",
                     key,
                     "] is not supported: expected none, got one");
  layers::check_whole_heads_turn(hf);
  Json out = layers::decoder_from_hf(hf, defaults_of(is_moe(hf)));
  const int64_t default_head_dim =
      is_moe(hf) ? out.at("dim").i64() / out.at("num_heads").i64() : 128;
  out["head_dim"] = hf.i64("head_dim", default_head_dim);
  add_window_from_hf(hf, out);
  if (is_moe(hf)) out["moe"] = moe_from_hf(hf);
  return out;
}

Json Qwen3::config_to_hf() const {
  const bool has_experts = config_.has_experts();
  const char* const type = has_experts ? "qwen3_moe" : "qwen3";
  if (has_experts) layers::check_no_expert_bias(config_.moe, type);
  Json out = layers::decoder_to_hf(
      config_, has_experts ? "Qwen3MoeForCausalLM" : "Qwen3ForCausalLM", type);
  add_window_to_hf(config_, out);
  if (has_experts) add_moe_to_hf(config_, out);
  return out;
}

void Qwen3::describe_keys(Keys& keys) const {
  layers::decoder_keys(keys, config_.tie_embeddings);
  layers::attention_keys(
      keys, {.has_bias = config_.attention_bias, .has_qk_norm = true});
  layers::feed_forward_keys(keys, /*has_bias=*/false);
  if (config_.has_experts()) layers::moe_keys(keys);
}

}  // namespace titan::qwen3
