// SPDX-License-Identifier: BSD-3-Clause
// Llama 3: the decoder of plugins/models/layers/decoder.hpp as it is.
// Initialisation (torchtitan's): embedding N(0, 1); projections in N(0, 0.02);
// projections out, and w3, N(0, 0.02 / sqrt(2 (layer + 1))); head N(0, D^-1/2)
// cut at three deviations.
#include "plugins/models/llama3/model.h"

#include "plugins/models/layers/decoder.hpp"
#include "plugins/models/layers/start.hpp"

namespace titan::llama3 {
namespace {

std::vector<layers::DecoderBlock::Config> blocks_of(const LlamaConfig& c) {
  std::vector<layers::DecoderBlock::Config> blocks;
  for (int64_t layer = 0; layer < c.num_layers; ++layer)
    blocks.push_back({.norm_eps = c.norm_eps,
                      .attention = layers::attention_of(c),
                      .attention_init = layers::kLinearInit,
                      .attention_output_init = layers::depth_init(layer),
                      .feed_forward = {c.dim, c.hidden_dim, c.mlp_bias},
                      .feed_forward_init = layers::kLinearInit,
                      .feed_forward_output_init = layers::depth_init(layer)});
  return blocks;
}

}  // namespace

class Network : public layers::Decoder<layers::DecoderBlock> {
  using Decoder::Decoder;
};

Llama3::Llama3(const Config& config) : config_(config) {}

Llama3::~Llama3() = default;

void Llama3::build(Build b) {
  network_ = std::make_unique<Network>(b,
                                       config_,
                                       init::normal(1),
                                       layers::head_init(config_.dim),
                                       blocks_of(config_));
}

double Llama3::flops_per_token(int64_t seq_len) const {
  const LlamaConfig& c = config_;
  const int64_t block =
      layers::attention_weights(c) +
      layers::feed_forward_weights({c.dim, c.hidden_dim, c.mlp_bias});
  return layers::decoder_flops(c, c.num_layers * block, c.num_layers * seq_len);
}

}  // namespace titan::llama3
