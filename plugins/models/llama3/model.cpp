// SPDX-License-Identifier: BSD-3-Clause
// Llama 3: h = x + attention(norm(x)); out = h + feed_forward(norm(h)).
// Legend: T packed tokens, D model dim, V vocabulary.
// Initialisation (torchtitan's): embedding N(0, 1); projections in N(0, 0.02);
// projections out, and w3, N(0, 0.02 / sqrt(2 (layer + 1))); head N(0, D^-1/2)
// cut at three deviations.
#include "plugins/models/llama3/model.h"

#include <cmath>

#include "plugins/models/layers/attention.hpp"
#include "plugins/models/layers/feed_forward.hpp"

namespace titan::llama3 {
namespace {

constexpr Init kLinearInit = init::trunc_normal(0.02);

Init depth_init(int64_t layer) {
  return init::trunc_normal(0.02 /
                            std::sqrt(2.0 * static_cast<double>(layer + 1)));
}

Init head_init(int64_t dim) {
  const double std = 1 / std::sqrt(static_cast<double>(dim));
  return init::trunc_normal(std, -3 * std, 3 * std);
}

layers::AttentionConfig attention_config(const LlamaConfig& c) {
  return {.dim = c.dim,
          .num_heads = c.num_heads,
          .num_kv_heads = c.num_kv_heads,
          .head_dim = c.head_dim,
          .scale = layers::attention_scale(c.head_dim, c.rope),
          .has_qkv_bias = c.attention_bias,
          .has_output_bias = c.attention_bias,
          .rope = c.rope};
}

class Block : public Module<Block> {
 public:
  Block(Build b, const LlamaConfig& c, int64_t layer)
      : Module(b, "llama3.block"),
        attention_norm(b / "attention_norm", c.dim, {c.norm_eps}),
        attention(b / "attention",
                  attention_config(c),
                  kLinearInit,
                  depth_init(layer)),
        ffn_norm(b / "ffn_norm", c.dim, {c.norm_eps}),
        feed_forward(b / "feed_forward",
                     {c.dim, c.hidden_dim, c.mlp_bias},
                     kLinearInit,
                     depth_init(layer)) {}

  Tensor forward(Context& ctx, const Tensor& x_TD) const {
    const Tensor h_TD = x_TD + attention(ctx, attention_norm(ctx, x_TD));
    return h_TD + feed_forward(ctx, ffn_norm(ctx, h_TD));
  }

 private:
  RMSNorm attention_norm;
  layers::GroupedQueryAttention attention;
  RMSNorm ffn_norm;
  layers::FeedForward feed_forward;
};

}  // namespace

/// The sequence embed, blocks, norm; the head is applied by the host.
class Decoder {
 public:
  Decoder(const Build& b, const LlamaConfig& c)
      : tok_embeddings(b / "tok_embeddings",
                       {c.vocab_size, c.dim},
                       // One tied weight: the head's rule is the one that runs.
                       c.tie_embeddings ? head_init(c.dim) : init::normal(1),
                       vocab()),
        layers(b / "layers", c.num_layers, c),
        norm(b / "norm", c.dim, {c.norm_eps}),
        lm_head(b / "lm_head",
                {c.dim, c.vocab_size},
                head_init(c.dim),
                vocab()) {
    if (c.tie_embeddings) b.tie(tok_embeddings, lm_head);
    const Carry carry = residual(c.dim);
    b.item(tok_embeddings, carry, {.batch = {"tokens"}});
    for (const Block& block : layers) b.item(block, carry);
    b.item(norm, carry);
    b.output(lm_head);
  }

 private:
  Embedding tok_embeddings;
  ModuleList<Block> layers;
  RMSNorm norm;
  Linear lm_head;
};

Llama3::Llama3(const Config& config) : config_(config) {}

Llama3::~Llama3() = default;

void Llama3::build(Build b) {
  decoder_ = std::make_unique<Decoder>(b, config_);
}

// 6 N + 6 L N_heads (H_qk + H_v) S: forward and backward, the embedding's
// look-up not counted unless its weight is the head's too, no causal halving.
double Llama3::flops_per_token(int64_t seq_len) const {
  const LlamaConfig& c = config_;
  int64_t multiplied = c.num_parameters();
  if (!c.tie_embeddings) multiplied -= c.vocab_size * c.dim;
  const int64_t per_position = c.num_layers * c.num_heads * 2 * c.head_dim;
  return 6.0 * static_cast<double>(multiplied) +
         6.0 * static_cast<double>(per_position) * static_cast<double>(seq_len);
}

}  // namespace titan::llama3
