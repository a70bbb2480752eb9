// SPDX-License-Identifier: BSD-3-Clause
// What decoders of grouped-query attention and SwiGLU have in common in Hugging
// Face's config.json, both ways. Beside decoder_config.hpp, so that only a
// family's hf.cpp compiles it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugins/models/layers/decoder_config.hpp"
#include "plugins/models/layers/hf_config.hpp"
#include "plugins/models/layers/rope_hf.hpp"

namespace titan::layers {

/// What transformers takes for the sizes that a config.json leaves out: its
/// configuration class of the family.
struct HfDefaults {
  int64_t dim;
  int64_t hidden_dim;
  int64_t num_layers;
  int64_t num_heads;
  int64_t num_kv_heads;  // 0: num_attention_heads, as null says
  int64_t vocab_size;
  int64_t max_position;
};

/// Refuses what none of these networks does.
inline void check_hf_decoder(const HfConfig& hf) {
  if (hf.str("hidden_act", "silu") != "swish")  // silu's other name
    hf.require("hidden_act", "silu", "the feed-forward is SwiGLU");
  if (!hf.is_null("attention_dropout"))
    hf.require("attention_dropout", 0, "attention drops nothing");
}

/// Refuses heads of which only a part turns.
inline void check_whole_heads_turn(const HfConfig& hf) {
  for (const HfConfig& values : {hf, rope_values(hf)})
    values.require("partial_rotary_factor", 1, "whole heads are turned");
}

/// The keys of read_decoder_without_heads.
inline Json decoder_without_heads_from_hf(const HfConfig& hf,
                                          const HfDefaults& defaults) {
  check_hf_decoder(hf);
  const int64_t max_position =
      hf.size("max_position_embeddings", defaults.max_position);
  Json out = Json::object();
  out["dim"] = hf.size("hidden_size", defaults.dim);
  out["num_layers"] = hf.size("num_hidden_layers", defaults.num_layers);
  out["num_heads"] = hf.size("num_attention_heads", defaults.num_heads);
  out["hidden_dim"] = hf.size("intermediate_size", defaults.hidden_dim);
  out["vocab_size"] = hf.size("vocab_size", defaults.vocab_size);
  out["norm_eps"] = hf.f64("rms_norm_eps", 1e-6);
  out["tie_embeddings"] = hf.flag("tie_word_embeddings", false);
  out["max_position"] = max_position;
  out["attention_bias"] = hf.flag("attention_bias", false);
  out["rope"] = rope_from_hf(hf, 10000, max_position);
  return out;
}

/// The keys of read_decoder.
inline Json decoder_from_hf(const HfConfig& hf, const HfDefaults& defaults) {
  Json out = decoder_without_heads_from_hf(hf, defaults);
  const int64_t num_heads = out.at("num_heads").i64();
  const int64_t otherwise =
      defaults.num_kv_heads > 0 ? defaults.num_kv_heads : num_heads;
  out["num_kv_heads"] = hf.i64("num_key_value_heads", otherwise, num_heads);
  if (hf.has("head_dim")) out["head_dim"] = hf.i64("head_dim", 0);
  return out;
}

/// The blocks of type `kind` in config.json's "layer_types"; the others must be
/// of type `other`.
inline std::vector<bool> layers_of_type(const HfConfig& hf,
                                        int64_t num_layers,
                                        const std::string& kind,
                                        const std::string& other) {
  const auto& types = hf.json().at("layer_types").items();
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

/// Some of transformers' classes refuse this, whatever head_dim says.
inline void check_heads_divide_dim(const DecoderConfig& c,
                                   std::string_view theirs) {
  TITAN_USER_CHECK(c.dim % c.num_heads == 0,
                   "[model.num_heads] must divide dim in Hugging Face's ",
                   theirs,
                   ": expected a divisor of ",
                   c.dim,
                   " to be exported, got ",
                   c.num_heads);
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
