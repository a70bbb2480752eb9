// SPDX-License-Identifier: BSD-3-Clause
// DeepSeek-V3: the decoder of plugins/models/layers/decoder.hpp with latent
// attention; after the first blocks a mixture of experts with shared ones.
// Initialisation (torchtitan's): embedding N(0, 1); projections in N(0, 0.02);
// projections out, w3 and the router's gate N(0, 0.02 / sqrt(2 (layer + 1)));
// head N(0, D^-1/2) cut at three deviations.
#include "plugins/models/deepseek_v3/model.h"

#include "plugins/models/layers/decoder.hpp"
#include "plugins/models/layers/start.hpp"

namespace titan::deepseek_v3 {
namespace {

using Block = layers::PreNormBlock<layers::LatentAttention>;

using layers::depth_init;
using layers::head_init;
using layers::kLinearInit;

Block::Config block_of(const DeepseekConfig& c, int64_t layer) {
  const Init out = depth_init(layer);
  Block::Config block{.norm_eps = c.norm_eps,
                      .attention = c.attention,
                      .attention_init = kLinearInit,
                      .attention_output_init = out,
                      .feed_forward = {c.dim, c.hidden_dim},
                      .feed_forward_init = kLinearInit,
                      .feed_forward_output_init = out};
  if (!c.is_sparse(layer)) return block;
  block.moe = c.moe;
  block.moe_init = {.gate = out,
                    .experts = {kLinearInit, out, out},
                    .shared_linear = kLinearInit,
                    .shared_depth = out};
  return block;
}

std::vector<Block::Config> blocks_of(const DeepseekConfig& c) {
  std::vector<Block::Config> blocks;
  for (int64_t layer = 0; layer < c.num_layers; ++layer)
    blocks.push_back(block_of(c, layer));
  return blocks;
}

// Each as the last block of the model would be.
layers::MultiTokenConfig<Block> further_of(const DeepseekConfig& c) {
  layers::MultiTokenConfig<Block> out{
      .blocks = {}, .norm_eps = c.norm_eps, .loss_coeff = c.mtp_loss_coeff};
  for (int64_t depth = 0; depth < c.num_mtp_layers; ++depth)
    out.blocks.push_back(block_of(c, c.num_layers - 1));
  return out;
}

/// Of one token, with the block's norms.
int64_t block_weights(const DeepseekConfig& c, int64_t layer) {
  return layers::latent_attention_weights(c.attention) + 2 * c.dim +
         (c.is_sparse(layer)
              ? layers::moe_active_weights(c.moe)
              : layers::feed_forward_weights({c.dim, c.hidden_dim}));
}

}  // namespace

class Network : public layers::Decoder<Block> {
  using Decoder::Decoder;
};

DeepseekV3::DeepseekV3(const Config& config) : config_(config) {}

DeepseekV3::~DeepseekV3() = default;

void DeepseekV3::build(Build b) {
  network_ = std::make_unique<Network>(b,
                                       config_,
                                       init::normal(1),
                                       head_init(config_.dim),
                                       blocks_of(config_),
                                       further_of(config_));
}

double DeepseekV3::flops_per_token(int64_t seq_len) const {
  const DeepseekConfig& c = config_;
  // A depth further has three norms, a projection, and the head once more.
  const int64_t depth = block_weights(c, c.num_layers - 1) +
                        c.dim * (3 + 2 * c.dim + c.vocab_size);
  int64_t weights = c.num_mtp_layers * depth;
  for (int64_t layer = 0; layer < c.num_layers; ++layer)
    weights += block_weights(c, layer);
  return layers::decoder_flops(c,
                               weights,
                               (c.num_layers + c.num_mtp_layers) * seq_len,
                               c.attention.key_dim() + c.attention.value_dim);
}

}  // namespace titan::deepseek_v3
