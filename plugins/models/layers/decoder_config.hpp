// SPDX-License-Identifier: BSD-3-Clause
// What decoders of grouped-query attention and SwiGLU have in common as
// configuration: read from a recipe, from Hugging Face's config.json and back,
// and the FLOPs that follow. A family's config derives from it. The network is
// in decoder.hpp, names of checkpoints in decoder_keys.hpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <titan/sdk/config.hpp>

#include "plugins/models/layers/rope.hpp"

namespace titan::layers {

struct DecoderConfig {
  int64_t dim;
  int64_t num_layers;
  int64_t num_heads;
  int64_t num_kv_heads;
  int64_t head_dim;
  int64_t hidden_dim;  // of the feed-forward
  int64_t vocab_size;
  double norm_eps;
  bool tie_embeddings;
  int64_t max_position;
  bool attention_bias;  // of wq, wk, wv and wo
  RopeConfig rope;
  int64_t norm_offset = 0;  // 1: norms' weights are stored as w - 1
};

// ---- recipe ----

inline void check_heads(const DecoderConfig& c) {
  TITAN_USER_CHECK(c.num_heads % c.num_kv_heads == 0,
                   "[model.num_kv_heads] must divide num_heads: expected a "
                   "divisor of ",
                   c.num_heads,
                   ", got ",
                   c.num_kv_heads);
}

inline void check_rope_scaling(const RopeConfig& rope) {
  TITAN_USER_CHECK(
      rope.scaling != "llama" || rope.high_freq_factor > rope.low_freq_factor,
      "[model.rope.scaling.high_freq_factor] must exceed low_freq_factor: "
      "expected more than ",
      rope.low_freq_factor,
      ", got ",
      rope.high_freq_factor);
}

/// Refuses what a schema cannot see: how keys fit together.
inline void check_decoder(const DecoderConfig& c) {
  check_heads(c);
  TITAN_USER_CHECK(c.head_dim % 2 == 0,
                   "[model.head_dim] rotary embedding turns pairs: expected an "
                   "even number, got ",
                   c.head_dim);
  check_rope_scaling(c.rope);
}

/// "head_dim"; dim / num_heads where it is null.
inline int64_t read_head_dim(const Config& config) {
  if (config.has("head_dim")) return config.i64("head_dim");
  const int64_t dim = config.i64("dim");
  const int64_t num_heads = config.i64("num_heads");
  TITAN_USER_CHECK(dim % num_heads == 0,
                   "[model.num_heads] must divide dim when head_dim is not "
                   "given: expected a divisor of ",
                   dim,
                   ", got ",
                   num_heads);
  return dim / num_heads;
}

/// One flag per block; those in the list at `key` are set.
inline std::vector<bool> read_blocks(const Config& config,
                                     const std::string& key,
                                     int64_t num_layers) {
  std::vector<bool> out(static_cast<size_t>(num_layers), false);
  for (const int64_t layer : config.ints(key)) {
    TITAN_USER_CHECK(layer < num_layers,
                     "[model.",
                     key,
                     "] blocks are counted from 0: expected less than ",
                     num_layers,
                     ", got ",
                     layer);
    out[static_cast<size_t>(layer)] = true;
  }
  return out;
}

/// All but what the heads are.
inline DecoderConfig read_decoder_without_heads(const Config& config) {
  DecoderConfig out{};
  out.dim = config.i64("dim");
  out.num_layers = config.i64("num_layers");
  out.num_heads = config.i64("num_heads");
  out.hidden_dim = config.i64("hidden_dim");
  out.vocab_size = config.i64("vocab_size");
  out.norm_eps = config.f64("norm_eps");
  out.tie_embeddings = config.flag("tie_embeddings");
  out.max_position = config.i64("max_position");
  out.attention_bias = config.flag("attention_bias");
  out.rope = read_rope(config);
  return out;
}

inline DecoderConfig read_decoder(const Config& config) {
  DecoderConfig out = read_decoder_without_heads(config);
  out.num_kv_heads = config.i64("num_kv_heads");
  out.head_dim = read_head_dim(config);
  check_decoder(out);
  return out;
}

/// The numbers of the blocks that are set.
inline Json layer_numbers(const std::vector<bool>& layers) {
  Json out = Json::array();
  for (size_t layer = 0; layer < layers.size(); ++layer)
    if (layers[layer]) out.push_back(static_cast<int64_t>(layer));
  return out;
}

// ---- FLOPs ----

/// Weights of one block's attention and of its two norms.
inline int64_t attention_weights(const DecoderConfig& c) {
  const int64_t query_dim = c.num_heads * c.head_dim;
  const int64_t kv_dim = c.num_kv_heads * c.head_dim;
  const int64_t biases = c.attention_bias ? query_dim + 2 * kv_dim + c.dim : 0;
  return 2 * c.dim * (query_dim + kv_dim) + biases + 2 * c.dim;
}

/// Of one token, forward and backward: 6 for each weight that it is multiplied
/// with (`block_weights`, final norm, head; the embedding is a look-up), and 6
/// for each query head's dims of k and of v (`dims_per_head`) at `attended`
/// positions, summed over the blocks; causal or not makes no difference to the
/// convention.
inline double decoder_flops(const DecoderConfig& c,
                            int64_t block_weights,
                            int64_t attended,
                            int64_t dims_per_head) {
  const int64_t weights = block_weights + c.dim + c.vocab_size * c.dim;
  return 6.0 * static_cast<double>(weights) +
         6.0 * static_cast<double>(c.num_heads * dims_per_head) *
             static_cast<double>(attended);
}
inline double decoder_flops(const DecoderConfig& c,
                            int64_t block_weights,
                            int64_t attended) {
  return decoder_flops(c, block_weights, attended, 2 * c.head_dim);
}

// ---- config.json ----

/// Refuses what none of these networks does.
inline void check_hf_decoder(const Json& hf) {
  const std::string activation = hf.str_or("hidden_act", "silu");
  TITAN_USER_CHECK(activation == "silu",
                   "[config.json hidden_act] the feed-forward is SwiGLU: "
                   "expected silu, got ",
                   activation);
  const double rotary = hf.f64_or("partial_rotary_factor", 1);
  TITAN_USER_CHECK(rotary == 1,
                   "[config.json partial_rotary_factor] whole heads are "
                   "turned: expected 1, got ",
                   rotary);
  const double dropout = hf.f64_or("attention_dropout", 0);
  TITAN_USER_CHECK(dropout == 0,
                   "[config.json attention_dropout] attention drops nothing: "
                   "expected 0, got ",
                   dropout);
}

/// The keys of read_decoder_without_heads. `default_max_position`: where
/// config.json does not say, as all defaults that of transformers.
inline Json decoder_without_heads_from_hf(const Json& hf,
                                          int64_t default_max_position) {
  check_hf_decoder(hf);
  Json out = Json::object();
  out["dim"] = hf.at("hidden_size");
  out["num_layers"] = hf.at("num_hidden_layers");
  out["num_heads"] = hf.at("num_attention_heads");
  out["hidden_dim"] = hf.at("intermediate_size");
  out["vocab_size"] = hf.at("vocab_size");
  out["norm_eps"] = hf.f64_or("rms_norm_eps", 1e-6);
  out["tie_embeddings"] = hf.flag_or("tie_word_embeddings", false);
  out["max_position"] =
      hf.i64_or("max_position_embeddings", default_max_position);
  out["attention_bias"] = hf.flag_or("attention_bias", false);
  out["rope"] = rope_from_hf(hf, 10000);
  return out;
}

/// The keys of read_decoder.
inline Json decoder_from_hf(const Json& hf, int64_t default_max_position) {
  Json out = decoder_without_heads_from_hf(hf, default_max_position);
  out["num_kv_heads"] =
      hf.i64_or("num_key_value_heads", out.at("num_heads").i64());
  if (hf.has("head_dim")) out["head_dim"] = hf.at("head_dim");
  return out;
}

/// The blocks of type `kind` in config.json's "layer_types"; the others must be
/// of type `other`.
inline std::vector<bool> layers_of_type(const Json& hf,
                                        const std::string& kind,
                                        const std::string& other) {
  const int64_t num_layers = hf.at("num_hidden_layers").i64();
  const auto& types = hf.at("layer_types").items();
  TITAN_USER_CHECK(static_cast<int64_t>(types.size()) == num_layers,
                   "[config.json layer_types] one for each block: expected ",
                   num_layers,
                   ", got ",
                   types.size());
  std::vector<bool> out;
  for (const Json& given : types) {
    const std::string& type = given.str();
    TITAN_USER_CHECK(type == kind || type == other,
                     "[config.json layer_types] block ",
                     out.size(),
                     ": expected ",
                     other,
                     " or ",
                     kind,
                     ", got ",
                     type);
    out.push_back(type == kind);
  }
  return out;
}

inline Json layer_types(const std::vector<bool>& layers,
                        const std::string& kind,
                        const std::string& other) {
  Json out = Json::array();
  for (const bool is_kind : layers) out.push_back(is_kind ? kind : other);
  return out;
}

inline Json decoder_to_hf(const DecoderConfig& c,
                          std::string_view architecture,
                          std::string_view model_type) {
  Json out = Json::object();
  out["architectures"] = Json::array({architecture});
  out["model_type"] = model_type;
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
  out["rope_parameters"] = rope_to_hf(c.rope);
  // The form that transformers 4 reads.
  out["rope_theta"] = c.rope.theta;
  if (c.rope.scaling != "none") out["rope_scaling"] = rope_to_hf(c.rope);
  return out;
}

}  // namespace titan::layers
