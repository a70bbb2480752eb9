// SPDX-License-Identifier: BSD-3-Clause
// Gated DeltaNet (arXiv 2412.06464): linear attention by the gated delta rule
// over short convolutions, y = wo(RMSNorm(rule(q, k, v, g, beta)) * silu(z)).
// Legend: T tokens, D model dim, M key heads, N value heads (a multiple of M),
// K key head dim, V value head dim. Head counts are never written down in
// forward: they are local under tensor parallelism.
#pragma once

#include <titan/sdk.hpp>

#include "plugins/models/layers/causal_conv.hpp"

namespace titan::layers {

struct GatedDeltaNetConfig {
  int64_t dim;
  int64_t num_key_heads;
  int64_t num_value_heads;
  int64_t key_head_dim;
  int64_t value_head_dim;
  int64_t conv_taps;
  double norm_eps;

  int64_t key_dim() const { return num_key_heads * key_head_dim; }
  int64_t value_dim() const { return num_value_heads * value_head_dim; }
};

inline int64_t gated_delta_net_weights(const GatedDeltaNetConfig& c) {
  const int64_t in = 2 * c.key_dim() + 2 * c.value_dim() +  // q, k, v, z
                     2 * c.num_value_heads;                 // a, b
  const int64_t conv = c.conv_taps * (2 * c.key_dim() + c.value_dim());
  return c.dim * (in + c.value_dim()) + conv + 2 * c.num_value_heads +
         c.value_head_dim;
}

/// Multiply-adds of one token with the state: forget and correct, write, read.
inline int64_t gated_delta_net_state_products(const GatedDeltaNetConfig& c) {
  return 3 * c.num_value_heads * c.key_head_dim * c.value_head_dim;
}

class GatedDeltaNet : public Module<GatedDeltaNet> {
 public:
  GatedDeltaNet(Build b,
                const GatedDeltaNetConfig& c,
                Init linear_init,
                Init output_init)
      : Module(b, "layers.gated_delta_net"),
        key_head_dim_(c.key_head_dim),
        value_head_dim_(c.value_head_dim),
        in_proj_q_(b / "in_proj_q",
                   {c.dim, c.key_dim()},
                   linear_init,
                   column(c.key_head_dim)),
        in_proj_k_(b / "in_proj_k",
                   {c.dim, c.key_dim()},
                   linear_init,
                   column(c.key_head_dim)),
        in_proj_v_(b / "in_proj_v",
                   {c.dim, c.value_dim()},
                   linear_init,
                   column(c.value_head_dim)),
        in_proj_z_(b / "in_proj_z",
                   {c.dim, c.value_dim()},
                   linear_init,
                   column(c.value_head_dim)),
        in_proj_a_(b / "in_proj_a",
                   {c.dim, c.num_value_heads},
                   linear_init,
                   column()),
        in_proj_b_(b / "in_proj_b",
                   {c.dim, c.num_value_heads},
                   linear_init,
                   column()),
        conv_q_(b / "conv_q",
                {c.key_dim(), c.conv_taps},
                column(c.key_head_dim)),
        conv_k_(b / "conv_k",
                {c.key_dim(), c.conv_taps},
                column(c.key_head_dim)),
        conv_v_(b / "conv_v",
                {c.value_dim(), c.conv_taps},
                column(c.value_head_dim)),
        a_log_(b / "A_log",
               {c.num_value_heads},
               init::log_uniform(0.01, 16),
               column()),
        dt_bias_(b / "dt_bias", {c.num_value_heads}, init::ones(), column()),
        rule_(b.op("rule", "titan.gated_delta_rule/1")),
        norm_(b / "norm", c.value_head_dim, {c.norm_eps}),
        gate_(b.op("gate", "titan.swiglu/1")),
        out_proj_(b / "out_proj",
                  {c.value_dim(), c.dim},
                  output_init,
                  row(c.value_head_dim)) {}

  Tensor forward(Context& ctx, const Tensor& x_TD) const {
    const Tensor q_TMK = conv_q_(ctx, in_proj_q_(ctx, x_TD));
    const Tensor k_TMK = conv_k_(ctx, in_proj_k_(ctx, x_TD));
    const Tensor v_TNV = conv_v_(ctx, in_proj_v_(ctx, x_TD));
    const Tensor z_TNV = in_proj_z_(ctx, x_TD);
    const auto [o_TNV, state] =
        rule_.outputs<2>(ctx,
                         q_TMK.unflatten(-1, {-1, key_head_dim_}),
                         k_TMK.unflatten(-1, {-1, key_head_dim_}),
                         v_TNV.unflatten(-1, {-1, value_head_dim_}),
                         log_decay(ctx, in_proj_a_(ctx, x_TD)),
                         in_proj_b_(ctx, x_TD).sigmoid(),
                         ctx.batch("cu_seqlens"));
    const Tensor gated_TNV = gate_(
        ctx, z_TNV.unflatten(-1, {-1, value_head_dim_}), norm_(ctx, o_TNV));
    return out_proj_(ctx, gated_TNV.flatten(-2));
  }

 private:
  /// g = -exp(A_log) softplus(a + dt_bias), in the type of sums: it is summed
  /// over a chunk.
  Tensor log_decay(Context& ctx, const Tensor& a_TN) const {
    const Dtype real = accumulation_dtype(a_TN.dtype());
    const Tensor rate_N = a_log_(ctx).to(real).exp();
    return -(rate_N * (a_TN.to(real) + dt_bias_(ctx).to(real)).softplus());
  }

  int64_t key_head_dim_, value_head_dim_;
  Linear in_proj_q_, in_proj_k_, in_proj_v_, in_proj_z_, in_proj_a_, in_proj_b_;
  CausalConv1d conv_q_, conv_k_, conv_v_;
  Parameter a_log_, dt_bias_;
  Op rule_;
  RMSNorm norm_;
  Op gate_;
  Linear out_proj_;
};

}  // namespace titan::layers
