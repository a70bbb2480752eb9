// SPDX-License-Identifier: BSD-3-Clause
// Grouped-query attention with rotary positions, as Llama, Qwen and their kin
// use it: y = wo(attention(rope(norm(wq x)), rope(norm(wk x)), wv x)). Legend:
// T tokens, D model dim, N query heads, K key/value heads, H head dim. Head
// counts are never written down in forward: they are local under tensor
// parallelism.
#pragma once

#include <optional>
#include <string>

#include <titan/sdk.hpp>

#include "plugins/models/layers/rope.hpp"

namespace titan::layers {

struct AttentionConfig {
  int64_t dim;
  int64_t num_heads;
  int64_t num_kv_heads;
  int64_t head_dim;
  double scale;
  int64_t window = 0;  // 0: all earlier tokens of the document
  bool has_qkv_bias = false;
  bool has_output_bias = false;
  std::optional<double> qk_norm_eps = std::nullopt;  // RMSNorm over H
  RopeConfig rope;
};

class GroupedQueryAttention : public Module<GroupedQueryAttention> {
 public:
  GroupedQueryAttention(Build b,
                        const AttentionConfig& c,
                        Init linear_init,
                        Init output_init)
      : Module(b, "layers.grouped_query_attention"),
        head_dim_(c.head_dim),
        wq_(b / "qkv_linear" / "wq",
            {c.dim, c.num_heads * c.head_dim, c.has_qkv_bias},
            linear_init,
            column(c.head_dim)),
        wk_(b / "qkv_linear" / "wk",
            {c.dim, c.num_kv_heads * c.head_dim, c.has_qkv_bias},
            linear_init,
            column(c.head_dim)),
        wv_(b / "qkv_linear" / "wv",
            {c.dim, c.num_kv_heads * c.head_dim, c.has_qkv_bias},
            linear_init,
            column(c.head_dim)),
        wo_(b / "wo",
            {c.num_heads * c.head_dim, c.dim, c.has_output_bias},
            output_init,
            row(c.head_dim)),
        rope_(rope_op(b, c.rope)),
        inner_(b.op(
            "inner",
            "titan.attention/1",
            {{"scale", c.scale}, {"causal", true}, {"window", c.window}})) {
    if (!c.qk_norm_eps) return;
    q_norm_.emplace(b / "q_norm", c.head_dim, NormOptions{*c.qk_norm_eps});
    k_norm_.emplace(b / "k_norm", c.head_dim, NormOptions{*c.qk_norm_eps});
  }

  Tensor forward(Context& ctx, const Tensor& x_TD) const {
    Tensor q_TNH = wq_(ctx, x_TD).unflatten(-1, {-1, head_dim_});
    Tensor k_TKH = wk_(ctx, x_TD).unflatten(-1, {-1, head_dim_});
    const Tensor v_TKH = wv_(ctx, x_TD).unflatten(-1, {-1, head_dim_});
    if (q_norm_) {
      q_TNH = (*q_norm_)(ctx, q_TNH);
      k_TKH = (*k_norm_)(ctx, k_TKH);
    }
    const Tensor positions_T = ctx.batch("positions");
    const Tensor o_TNH = inner_(ctx,
                                rope_(ctx, q_TNH, positions_T),
                                rope_(ctx, k_TKH, positions_T),
                                v_TKH,
                                ctx.batch("cu_seqlens"),
                                ctx.batch("doc_id"));
    return wo_(ctx, o_TNH.flatten(-2));
  }

 private:
  int64_t head_dim_;
  Linear wq_, wk_, wv_, wo_;
  std::optional<RMSNorm> q_norm_, k_norm_;
  Op rope_;
  Op inner_;
};

}  // namespace titan::layers
