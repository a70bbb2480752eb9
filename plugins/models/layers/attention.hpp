// SPDX-License-Identifier: BSD-3-Clause
// Grouped-query attention, with rotary positions or without: y =
// wo(attention(rope(norm(wq x)), rope(norm(wk x)), wv x)). Legend: T tokens, D
// model dim, N query heads, K key/value heads, H head dim, X what wq gives a
// head. Head counts are never written down in forward: they are local under
// tensor parallelism.
#pragma once

#include <optional>
#include <string>

#include <titan/sdk.hpp>

#include "plugins/models/layers/norm.hpp"
#include "plugins/models/layers/rope.hpp"

namespace titan::layers {

/// Norm of q and k before they are turned.
struct QkNorm {
  NormConfig norm;
  bool is_over_width = false;  // of all heads together; else of each head
};

struct AttentionConfig {
  int64_t dim;
  int64_t num_heads;
  int64_t num_kv_heads;
  int64_t head_dim;
  double scale;
  int64_t window = 0;  // 0: all earlier tokens of the document
  bool has_qkv_bias = false;
  bool has_output_bias = false;
  std::optional<QkNorm> qk_norm = std::nullopt;
  /// wq gives each head's query, then its gate: y = wo(o * sigmoid(gate)).
  bool has_output_gate = false;
  std::string qkv_name = "qkv_linear";  // what holds wq, wk and wv; "": nothing
  double logit_cap = 0;  // scores become cap * tanh(scores / cap); 0: none
  bool has_rope = true;
  RopeConfig rope = {};
};

class GroupedQueryAttention : public Module<GroupedQueryAttention> {
 public:
  using Config = AttentionConfig;

  GroupedQueryAttention(Build b,
                        const AttentionConfig& c,
                        Init linear_init,
                        Init output_init)
      : Module(b, "layers.grouped_query_attention"),
        head_dim_(c.head_dim),
        query_dim_(c.has_output_gate ? 2 * c.head_dim : c.head_dim),
        wq_(qkv(b, c) / "wq",
            {c.dim, c.num_heads * query_dim_, c.has_qkv_bias},
            linear_init,
            column(query_dim_)),
        wk_(qkv(b, c) / "wk",
            {c.dim, c.num_kv_heads * c.head_dim, c.has_qkv_bias},
            linear_init,
            column(c.head_dim)),
        wv_(qkv(b, c) / "wv",
            {c.dim, c.num_kv_heads * c.head_dim, c.has_qkv_bias},
            linear_init,
            column(c.head_dim)),
        wo_(b / "wo",
            {c.num_heads * c.head_dim, c.dim, c.has_output_bias},
            output_init,
            row(c.head_dim)),
        inner_(b.op("inner",
                    "titan.attention/1",
                    {{"scale", c.scale},
                     {"causal", true},
                     {"window", c.window},
                     {"logit_cap", c.logit_cap}})) {
    if (c.has_rope) rope_ = rope_op(b, c.rope);
    if (!c.qk_norm) return;
    norms_width_ = c.qk_norm->is_over_width;
    num_heads_ = c.num_heads;
    const int64_t q_heads = norms_width_ ? c.num_heads : 1;
    const int64_t k_heads = norms_width_ ? c.num_kv_heads : 1;
    q_norm_ = norm_leaf(b / "q_norm", q_heads * c.head_dim, c.qk_norm->norm);
    k_norm_ = norm_leaf(b / "k_norm", k_heads * c.head_dim, c.qk_norm->norm);
  }

  Tensor forward(Context& ctx, const Tensor& x_TD) const {
    const Tensor query_TNX = heads(wq_(ctx, x_TD), query_dim_);
    TITAN_USER_CHECK(!norms_width_ || query_TNX.size(-2) == num_heads_,
                     "[parallel.tp] model.config.attention.qk_norm width is a "
                     "norm of all ",
                     num_heads_,
                     " heads: expected tp 1 with it, got a rank with ",
                     query_TNX.size(-2),
                     ". Set one of the two back.");
    const Tensor q_TNH = turned(ctx, normed(ctx, query_of(query_TNX), q_norm_));
    const Tensor k_TKH =
        turned(ctx, normed(ctx, heads(wk_(ctx, x_TD), head_dim_), k_norm_));
    const Tensor v_TKH = heads(wv_(ctx, x_TD), head_dim_);
    const Tensor o_TNH = inner_(
        ctx, q_TNH, k_TKH, v_TKH, ctx.batch("cu_seqlens"), ctx.batch("doc_id"));
    return wo_(ctx, gated(o_TNH, query_TNX).flatten(-2));
  }

 private:
  static Build qkv(const Build& b, const AttentionConfig& c) {
    return c.qkv_name.empty() ? b : b / c.qkv_name;
  }
  static Tensor heads(const Tensor& x_TW, int64_t dim) {
    return x_TW.unflatten(-1, {-1, dim});
  }
  bool has_gate() const { return query_dim_ != head_dim_; }
  Tensor query_of(const Tensor& query_TNX) const {
    return has_gate() ? query_TNX.narrow(-1, 0, head_dim_) : query_TNX;
  }
  Tensor gated(const Tensor& o_TNH, const Tensor& query_TNX) const {
    if (!has_gate()) return o_TNH;
    return o_TNH * query_TNX.narrow(-1, head_dim_, head_dim_).sigmoid();
  }
  Tensor normed(Context& ctx,
                const Tensor& x_TNH,
                const std::optional<Leaf>& norm) const {
    if (!norm) return x_TNH;
    if (!norms_width_) return (*norm)(ctx, x_TNH);
    return heads((*norm)(ctx, x_TNH.flatten(-2)), head_dim_);
  }
  Tensor turned(Context& ctx, const Tensor& x_TNH) const {
    return rope_ ? (*rope_)(ctx, x_TNH, ctx.batch("positions")) : x_TNH;
  }

  int64_t head_dim_, query_dim_;
  int64_t num_heads_ = 0;  // of all ranks, where norms_width_
  bool norms_width_ = false;
  Linear wq_, wk_, wv_, wo_;
  std::optional<Leaf> q_norm_, k_norm_;
  std::optional<Op> rope_;
  Op inner_;
};

}  // namespace titan::layers
