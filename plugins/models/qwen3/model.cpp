// SPDX-License-Identifier: BSD-3-Clause
// Qwen3: the decoder of plugins/models/layers/decoder.hpp with RMSNorm over the
// dims of each query and key head, before rotary embedding of halves, and with
// a window in some blocks, with experts in some. Initialisation (torchtitan's):
// all of N(0, 0.02), but with experts wo and their w2 of N(0, 0.02 / sqrt(2
// L)).
#include "plugins/models/qwen3/model.h"

#include <algorithm>
#include <cmath>

#include "plugins/models/layers/decoder.hpp"

namespace titan::qwen3 {
namespace {

constexpr Init kInit = init::normal(0.02);

layers::AttentionConfig attention_of(const Qwen3Config& c, int64_t layer) {
  layers::AttentionConfig out = layers::attention_of(c);
  out.window = c.window_of(layer);
  out.qk_norm = layers::QkNorm{.norm = {.eps = c.norm_eps}};
  out.rope.op = "titan.rope_cos_sin/1";
  return out;
}

Init output_init(const Qwen3Config& c) {
  if (!c.has_experts()) return kInit;
  return init::normal(0.02 /
                      std::sqrt(2.0 * static_cast<double>(c.num_layers)));
}

std::vector<layers::DecoderBlock::Config> blocks_of(const Qwen3Config& c) {
  const Init out = output_init(c);
  std::vector<layers::DecoderBlock::Config> blocks;
  for (int64_t layer = 0; layer < c.num_layers; ++layer) {
    auto& block = blocks.emplace_back();
    block = {.norm_eps = c.norm_eps,
             .attention = attention_of(c, layer),
             .attention_init = kInit,
             .attention_output_init = out,
             .feed_forward = {c.dim, c.hidden_dim},
             .feed_forward_init = kInit,
             .feed_forward_output_init = kInit};
    if (!c.is_sparse(layer)) continue;
    block.moe = c.moe;
    block.moe_init = {.gate = kInit, .experts = {kInit, out, kInit}};
  }
  return blocks;
}

}  // namespace

class Network : public layers::Decoder<layers::DecoderBlock> {
  using Decoder::Decoder;
};

Qwen3::Qwen3(const Config& config) : config_(config) {}

Qwen3::~Qwen3() = default;

void Qwen3::build(Build b) {
  network_ =
      std::make_unique<Network>(b, config_, kInit, kInit, blocks_of(config_));
}

double Qwen3::flops_per_token(int64_t seq_len) const {
  const Qwen3Config& c = config_;
  int64_t weights = 0, attended = 0;
  for (int64_t layer = 0; layer < c.num_layers; ++layer) {
    weights += layers::attention_weights(c) + 2 * c.head_dim;
    weights += c.is_sparse(layer)
                   ? layers::moe_active_weights(c.moe)
                   : layers::feed_forward_weights({c.dim, c.hidden_dim});
    attended +=
        c.is_sliding(layer) ? std::min(seq_len, c.sliding_window) : seq_len;
  }
  return layers::decoder_flops(c, weights, attended);
}

}  // namespace titan::qwen3
