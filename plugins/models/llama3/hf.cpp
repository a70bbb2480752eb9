// SPDX-License-Identifier: BSD-3-Clause
// Hugging Face's LlamaForCausalLM: config.json both ways, and key rules. Their
// rope turns halves of a head, ours adjacent pairs, so rows of q and k are
// permuted.
#include "plugins/models/layers/decoder_keys.hpp"
#include "plugins/models/llama3/model.h"

namespace titan::llama3 {

// Defaults are those of transformers' LlamaConfig.
Json Llama3::config_from_hf(const Json& hf) {
  Json out = layers::decoder_from_hf(hf, 2048);
  out["mlp_bias"] = hf.flag_or("mlp_bias", false);
  return out;
}

Json Llama3::config_to_hf() const {
  Json out = layers::decoder_to_hf(config_, "LlamaForCausalLM", "llama");
  out["mlp_bias"] = config_.mlp_bias;
  return out;
}

void Llama3::describe_keys(Keys& keys) const {
  layers::decoder_keys(keys, config_.tie_embeddings);
  layers::attention_keys(keys,
                         {.has_bias = config_.attention_bias,
                          .permuted_head_dim = config_.head_dim});
  layers::feed_forward_keys(keys, config_.mlp_bias);
}

}  // namespace titan::llama3
