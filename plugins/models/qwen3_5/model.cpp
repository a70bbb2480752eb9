// SPDX-License-Identifier: BSD-3-Clause
// Qwen3.5's text decoder: h = x + mixer(norm(x)); out = h + feed_forward(norm(
// h)), or experts in its place, the mixer being Gated DeltaNet or, in every
// fourth block, attention with an output gate that turns a part of each head.
// Norms keep their weight as w - 1. The vision tower will be a sequence beside
// the decoder's, its output a side input of the first block. Initialisation
// (torchtitan's): embedding N(0, 1); projections in N(0, 0.02); projections
// out, and w3, N(0, 0.02 / sqrt(2 (layer + 1))); head N(0, D^-1/2) cut at three
// deviations. Legend: T packed tokens, D model dim.
#include "plugins/models/qwen3_5/model.h"

#include <cmath>
#include <optional>
#include <vector>

#include "plugins/models/layers/decoder.hpp"
#include "plugins/models/layers/gated_delta_net.hpp"
#include "plugins/models/layers/moe.hpp"
#include "plugins/models/layers/start.hpp"

namespace titan::qwen3_5 {
namespace {

layers::AttentionConfig attention_of(const Qwen35Config& c) {
  layers::AttentionConfig out = layers::attention_of(c);
  // YaRN's factor is of the turned part only.
  out.scale = std::pow(static_cast<double>(c.head_dim), -0.5);
  out.rope.magnitude = c.rope.attention_factor;
  out.qkv_name = "";
  out.qk_norm =
      layers::QkNorm{.norm = {.eps = c.norm_eps, .offset = c.norm_offset}};
  out.has_output_gate = true;
  return out;
}

/// One of the two, at the same name.
class Mixer {
 public:
  Mixer(const Build& b, const Qwen35Config& c, int64_t layer) {
    const Init output_init = layers::depth_init(layer);
    if (c.is_full_attention(layer))
      attention_.emplace(b, attention_of(c), layers::kLinearInit, output_init);
    else
      delta_net_.emplace(b, c.linear, layers::kLinearInit, output_init);
  }

  Tensor operator()(Context& ctx, const Tensor& x_TD) const {
    return attention_ ? (*attention_)(ctx, x_TD) : (*delta_net_)(ctx, x_TD);
  }

 private:
  std::optional<layers::GroupedQueryAttention> attention_;
  std::optional<layers::GatedDeltaNet> delta_net_;
};

layers::MoeInit moe_init(int64_t layer) {
  const Init out = layers::depth_init(layer);
  return {.gate = out,
          .experts = {layers::kLinearInit, out, out},
          .shared_linear = layers::kLinearInit,
          .shared_depth = out};
}

class Block : public Module<Block> {
 public:
  struct Config {
    const Qwen35Config& model;
    int64_t layer;
  };

  Block(Build b, const Config& c)
      : Module(b, "qwen3_5.block"),
        attention_norm_(b / "attention_norm",
                        c.model.dim,
                        layers::norm_of(c.model)),
        attn_(b / "attn", c.model, c.layer),
        ffn_norm_(b / "ffn_norm", c.model.dim, layers::norm_of(c.model)) {
    if (c.model.has_experts())
      moe_.emplace(b / "moe", c.model.moe, moe_init(c.layer));
    else
      feed_forward_.emplace(
          b / "feed_forward",
          layers::FeedForwardConfig{.dim = c.model.dim,
                                    .hidden_dim = c.model.hidden_dim},
          layers::kLinearInit,
          layers::depth_init(c.layer));
  }

  Tensor forward(Context& ctx, const Tensor& x_TD) const {
    const Tensor h_TD = x_TD + attn_(ctx, attention_norm_(ctx, x_TD));
    const Tensor n_TD = ffn_norm_(ctx, h_TD);
    return h_TD + (moe_ ? (*moe_)(ctx, n_TD) : (*feed_forward_)(ctx, n_TD));
  }

 private:
  RMSNorm attention_norm_;
  Mixer attn_;
  RMSNorm ffn_norm_;
  std::optional<layers::FeedForward> feed_forward_;
  std::optional<layers::Moe> moe_;
};

std::vector<Block::Config> blocks_of(const Qwen35Config& c) {
  std::vector<Block::Config> blocks;
  for (int64_t layer = 0; layer < c.num_layers; ++layer)
    blocks.push_back({c, layer});
  return blocks;
}

/// Of one block, norms included.
int64_t mixer_weights(const Qwen35Config& c, int64_t layer) {
  if (!c.is_full_attention(layer))
    return layers::gated_delta_net_weights(c.linear) + 2 * c.dim;
  const int64_t gate =
      c.num_heads * c.head_dim * (c.dim + (c.attention_bias ? 1 : 0));
  return layers::attention_weights(c) + gate + 2 * c.head_dim;
}

}  // namespace

class Network : public layers::Decoder<Block> {
  using Decoder::Decoder;
};

Qwen35::Qwen35(const Config& config) : config_(config) {}

Qwen35::~Qwen35() = default;

void Qwen35::build(Build b) {
  network_ = std::make_unique<Network>(b,
                                       config_,
                                       init::normal(1),
                                       layers::head_init(config_.dim),
                                       blocks_of(config_));
}

// A block of linear attention multiplies with its state, whose size does not
// depend on the context; 2 FLOPs each, forward and twice backward.
double Qwen35::flops_per_token(int64_t seq_len) const {
  const Qwen35Config& c = config_;
  int64_t weights = 0, attended = 0, products = 0;
  for (int64_t layer = 0; layer < c.num_layers; ++layer) {
    weights += mixer_weights(c, layer);
    weights += c.has_experts()
                   ? layers::moe_active_weights(c.moe)
                   : layers::feed_forward_weights({c.dim, c.hidden_dim});
    if (c.is_full_attention(layer))
      attended += seq_len;
    else
      products += layers::gated_delta_net_state_products(c.linear);
  }
  return layers::decoder_flops(c, weights, attended) +
         6.0 * static_cast<double>(products);
}

}  // namespace titan::qwen3_5
