// SPDX-License-Identifier: BSD-3-Clause
// Multi-head latent attention (arXiv 2405.04434, section 2.1): keys and values
// of all heads come from one narrow latent per token, and so may the queries; a
// part of each query and one key that the heads share carry the positions.
// Legend: T tokens, D model dim, N heads, C latent dim, P dims without
// position, R turned dims, V value dims; query and key are [P | R].
#pragma once

#include <optional>
#include <vector>

#include <titan/sdk.hpp>

#include "plugins/models/layers/rope.hpp"

namespace titan::layers {

struct LatentAttentionConfig {
  int64_t dim;
  int64_t num_heads;
  int64_t q_latent_dim = 0;  // 0: one matrix makes the queries
  int64_t kv_latent_dim;
  int64_t plain_dim;  // of q and k of a head, without position
  int64_t turned_dim;
  int64_t value_dim;
  double scale = 1;
  double norm_eps;        // of the latents' norms
  bool has_bias = false;  // wq_a, wkv_a and wo
  RopeConfig rope;

  int64_t key_dim() const { return plain_dim + turned_dim; }
};

/// Weights of the five or four matrices and the latents' norms.
inline int64_t latent_attention_weights(const LatentAttentionConfig& c) {
  const int64_t q_dim = c.num_heads * c.key_dim();
  const int64_t kv_dim = c.num_heads * (c.plain_dim + c.value_dim);
  const int64_t q = c.q_latent_dim == 0 ? c.dim * q_dim
                                        : c.q_latent_dim * (c.dim + 1 + q_dim);
  const int64_t kv =
      c.dim * (c.kv_latent_dim + c.turned_dim) + c.kv_latent_dim * (1 + kv_dim);
  const int64_t biases =
      c.has_bias ? c.q_latent_dim + c.kv_latent_dim + c.turned_dim + c.dim : 0;
  return q + kv + c.num_heads * c.value_dim * c.dim + biases;
}

class LatentAttention : public Module<LatentAttention> {
 public:
  using Config = LatentAttentionConfig;

  LatentAttention(Build b, const Config& c, Init linear_init, Init output_init)
      : Module(b, "layers.latent_attention"),
        config_(c),
        queries_(b, c, linear_init),
        wkv_a_(b / "wkv_a",
               {c.dim, c.kv_latent_dim + c.turned_dim, c.has_bias},
               linear_init),
        kv_norm_(b / "kv_norm", c.kv_latent_dim, {c.norm_eps}),
        wkv_b_(b / "wkv_b",
               {c.kv_latent_dim, c.num_heads * (c.plain_dim + c.value_dim)},
               linear_init,
               column(c.plain_dim + c.value_dim)),
        wo_(b / "wo",
            {c.num_heads * c.value_dim, c.dim, c.has_bias},
            output_init,
            row(c.value_dim)),
        rope_(rope_op(b, c.rope)),
        inner_(b.op("inner",
                    "titan.attention/1",
                    {{"scale", c.scale}, {"causal", true}})) {}

  Tensor forward(Context& ctx, const Tensor& x_TD) const {
    const Tensor positions_T = ctx.batch("positions");
    const int64_t plain = config_.plain_dim;
    const int64_t turned = config_.turned_dim;
    const int64_t value = config_.value_dim;
    // split, not narrow: the gradient of the whole is one copy of its parts.
    const std::vector<Tensor> q = queries_(ctx, x_TD)
                                      .unflatten(-1, {-1, plain + turned})
                                      .split({plain, turned}, -1);
    const std::vector<Tensor> latent =
        wkv_a_(ctx, x_TD).split({config_.kv_latent_dim, turned}, -1);
    const std::vector<Tensor> kv = wkv_b_(ctx, kv_norm_(ctx, latent[0]))
                                       .unflatten(-1, {-1, plain + value})
                                       .split({plain, value}, -1);
    const Tensor q_TNR = rope_(ctx, q[1], positions_T);
    const Tensor k_T1R = rope_(ctx, latent[1].unsqueeze(1), positions_T);
    const Tensor k_TNR = k_T1R.expand({-1, kv[0].size(1), turned});
    const Tensor o_TNV = inner_(ctx,
                                cat({q[0], q_TNR}, -1),
                                cat({kv[0], k_TNR}, -1),
                                kv[1],
                                ctx.batch("cu_seqlens"),
                                ctx.batch("doc_id"));
    return wo_(ctx, o_TNV.flatten(-2));
  }

 private:
  /// wq x, or wq_b(norm(wq_a x)).
  class Queries {
   public:
    Queries(const Build& b, const Config& c, Init init) {
      const int64_t out = c.num_heads * c.key_dim();
      if (c.q_latent_dim == 0) {
        to_heads_.emplace(
            b / "wq", Features{c.dim, out}, init, column(c.key_dim()));
        return;
      }
      to_latent_.emplace(
          b / "wq_a", Features{c.dim, c.q_latent_dim, c.has_bias}, init);
      norm_.emplace(b / "q_norm", c.q_latent_dim, NormOptions{c.norm_eps});
      to_heads_.emplace(
          b / "wq_b", Features{c.q_latent_dim, out}, init, column(c.key_dim()));
    }
    Tensor operator()(Context& ctx, const Tensor& x_TD) const {
      if (!to_latent_) return (*to_heads_)(ctx, x_TD);
      return (*to_heads_)(ctx, (*norm_)(ctx, (*to_latent_)(ctx, x_TD)));
    }

   private:
    std::optional<Linear> to_latent_;
    std::optional<RMSNorm> norm_;
    std::optional<Linear> to_heads_;
  };

  Config config_;
  Queries queries_;
  Linear wkv_a_;
  RMSNorm kv_norm_;
  Linear wkv_b_;
  Linear wo_;
  Op rope_;
  Op inner_;
};

}  // namespace titan::layers
