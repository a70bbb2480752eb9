// SPDX-License-Identifier: BSD-3-Clause
// Hugging Face's Qwen3ForCausalLM: config.json both ways, and key rules. Both
// sides turn halves of a head, so nothing is permuted.
#include "plugins/models/layers/decoder_keys.hpp"
#include "plugins/models/qwen3/model.h"

namespace titan::qwen3 {
namespace {

constexpr const char* kSliding = "sliding_attention";
constexpr const char* kFull = "full_attention";

// Keys of config.json that change the network and that this one does not have.
constexpr const char* kUnsupported[] = {"dual_chunk_attention_config",
                                        "sparse_attention_config"};

/// "layer_types", else the blocks from max_window_layers on.
Json sliding_layers_from_hf(const Json& hf, bool has_window) {
  const int64_t num_layers = hf.at("num_hidden_layers").i64();
  Json out = Json::array();
  if (!hf.has("layer_types")) {
    const int64_t first = hf.i64_or("max_window_layers", 28);
    for (int64_t layer = first; has_window && layer < num_layers; ++layer)
      out.push_back(layer);
    return out;
  }
  const auto& types = hf.at("layer_types").items();
  TITAN_USER_CHECK(static_cast<int64_t>(types.size()) == num_layers,
                   "[config.json layer_types] one for each block: expected ",
                   num_layers,
                   ", got ",
                   types.size());
  for (int64_t layer = 0; layer < num_layers; ++layer) {
    const std::string& type = types[static_cast<size_t>(layer)].str();
    TITAN_USER_CHECK(type == kSliding || type == kFull,
                     "[config.json layer_types] block ",
                     layer,
                     ": expected ",
                     kFull,
                     " or ",
                     kSliding,
                     ", got ",
                     type);
    if (type == kSliding) out.push_back(layer);
  }
  return out;
}

void add_window_from_hf(const Json& hf, Json& out) {
  const Json* size = hf.find("sliding_window");
  const bool has_window = hf.flag_or("use_sliding_window", false) &&
                          !(size != nullptr && size->is_null());
  Json layers = sliding_layers_from_hf(hf, has_window);
  if (layers.size() == 0) return;
  TITAN_USER_CHECK(has_window,
                   "[config.json use_sliding_window] layer_types has sliding "
                   "attention: expected true and a sliding_window, got none");
  out["sliding_window"] = hf.i64_or("sliding_window", 4096);
  out["sliding_layers"] = std::move(layers);
}

void add_window_to_hf(const Qwen3Config& c, Json& out) {
  const bool has_window = c.sliding_window != 0;
  out["use_sliding_window"] = has_window;
  out["sliding_window"] = has_window ? Json(c.sliding_window) : Json();
  Json types = Json::array();
  for (int64_t layer = 0; layer < c.num_layers; ++layer)
    types.push_back(c.is_sliding(layer) ? kSliding : kFull);
  out["layer_types"] = std::move(types);
  // What transformers before layer_types reads: full attention up to here.
  int64_t num_full = c.num_layers;
  while (num_full > 0 && c.is_sliding(num_full - 1)) --num_full;
  out["max_window_layers"] = num_full;
}

}  // namespace

// Defaults are those of transformers' Qwen3Config.
Json Qwen3::config_from_hf(const Json& hf) {
  for (const char* key : kUnsupported)
    TITAN_USER_CHECK(!hf.has(key),
                     "[config.json ",
                     key,
                     "] is not supported: expected none, got one");
  Json out = layers::decoder_from_hf(hf, 32768);
  out["head_dim"] = hf.i64_or("head_dim", 128);
  add_window_from_hf(hf, out);
  return out;
}

Json Qwen3::config_to_hf() const {
  Json out = layers::decoder_to_hf(config_, "Qwen3ForCausalLM", "qwen3");
  add_window_to_hf(config_, out);
  return out;
}

void Qwen3::describe_keys(Keys& keys) const {
  layers::decoder_keys(keys, config_.tie_embeddings);
  layers::attention_keys(
      keys, {.has_bias = config_.attention_bias, .has_qk_norm = true});
  layers::feed_forward_keys(keys, /*has_bias=*/false);
}

}  // namespace titan::qwen3
