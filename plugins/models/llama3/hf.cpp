// SPDX-License-Identifier: BSD-3-Clause
// Hugging Face's LlamaForCausalLM: config.json both ways, and key rules. Their
// rope turns halves of a head, ours adjacent pairs, so rows of q and k are
// permuted.
#include "plugins/models/layers/decoder_hf.hpp"
#include "plugins/models/layers/decoder_keys.hpp"
#include "plugins/models/llama3/model.h"

namespace titan::llama3 {

// Defaults are those of transformers' LlamaConfig.
Json Llama3::config_from_hf(const Json& json) {
  const layers::HfConfig hf(json);
  layers::check_whole_heads_turn(hf);
  Json out = layers::decoder_from_hf(hf,
                                     {.dim = 4096,
                                      .hidden_dim = 11008,
                                      .num_layers = 32,
                                      .num_heads = 32,
                                      .num_kv_heads = 0,
                                      .vocab_size = 32000,
                                      .max_position = 2048});
  out["mlp_bias"] = hf.flag("mlp_bias", false);
  return out;
}

Json Llama3::config_to_hf() const {
  layers::check_heads_divide_dim(config_, "llama");
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
