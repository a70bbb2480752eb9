// SPDX-License-Identifier: BSD-3-Clause
// What decoders of grouped-query attention and SwiGLU have in common as
// configuration, read from a recipe, and the FLOPs that follow. A family's
// config derives from it. The network is in decoder.hpp, config.json of Hugging
// Face in decoder_hf.hpp, names of checkpoints in decoder_keys.hpp.
#pragma once

#include <string>
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

}  // namespace titan::layers
