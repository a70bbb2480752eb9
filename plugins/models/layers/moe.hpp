// SPDX-License-Identifier: BSD-3-Clause
// Mixture of experts: y = sum_k weight_k * expert_k(x) + shared(x). Exact and
// without padding: copies of tokens are sorted by expert, and an expert
// computes as many rows as chose it. Two module boundaries are meant to be
// replaced as a whole: routed_experts, and inner_experts below it
// (docs/adr/0020). Legend: T tokens, D model dim, E experts, K experts per
// token, R = T K rows, F hidden dim of an expert.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <titan/sdk.hpp>

#include "plugins/models/layers/feed_forward.hpp"

namespace titan::layers {

struct RouterConfig {
  int64_t num_experts = 1;
  int64_t top_k = 1;
  std::string score = "softmax";   // softmax | sigmoid | sqrt_softplus
  int64_t num_groups = 1;          // of neighbouring experts; 1: none
  int64_t num_limited_groups = 1;  // groups that a token may use
  int64_t group_top = 2;           // experts whose choices make a group's worth
  bool normalise = false;          // weights of a token sum to `scale`
  double scale = 1;
  bool has_gate_bias = false;
};

/// Refuses what a schema cannot see: how the keys of [model.moe] fit together.
inline void check_router(const RouterConfig& c) {
  TITAN_USER_CHECK(c.num_experts == 0 || c.top_k <= c.num_experts,
                   "[model.moe.top_k] a token goes to different experts: "
                   "expected at most num_experts ",
                   c.num_experts,
                   ", got ",
                   c.top_k);
  if (c.num_groups == 1) return;
  TITAN_USER_CHECK(c.num_experts % c.num_groups == 0,
                   "[model.moe.num_groups] must divide num_experts: expected "
                   "a divisor of ",
                   c.num_experts,
                   ", got ",
                   c.num_groups);
  const int64_t group = c.num_experts / c.num_groups;
  TITAN_USER_CHECK(
      c.num_limited_groups <= c.num_groups,
      "[model.moe.num_limited_groups] expected at most num_groups ",
      c.num_groups,
      ", got ",
      c.num_limited_groups);
  TITAN_USER_CHECK(c.group_top <= group,
                   "[model.moe.group_top] expected at most the ",
                   group,
                   " experts of a group, got ",
                   c.group_top);
  TITAN_USER_CHECK(c.top_k <= c.num_limited_groups * group,
                   "[model.moe.top_k] expected at most the experts of "
                   "num_limited_groups groups, ",
                   c.num_limited_groups * group,
                   ", got ",
                   c.top_k);
}

/// One linear layer in acc(dtype): which expert wins is decided by differences
/// that bf16 does not hold.
class RouterGate : public Module<RouterGate> {
 public:
  RouterGate(Build b, int64_t dim, const RouterConfig& c, Init init)
      : Module(b, "layers.router_gate"),
        weight_(b / "weight", {c.num_experts, dim}, init),
        linear_(b.op("linear", "titan.linear/1")) {
    if (c.has_gate_bias)
      bias_.emplace(
          b / "bias", std::vector<int64_t>{c.num_experts}, init::zeros());
  }

  Tensor forward(Context& ctx, const Tensor& x_TD) const {
    const Dtype real = accumulation_dtype(x_TD.dtype());
    const Tensor weight_ED = weight_(ctx).to(real);
    if (!bias_) return linear_(ctx, x_TD.to(real), weight_ED);
    return linear_(ctx, x_TD.to(real), weight_ED, (*bias_)(ctx).to(real));
  }

 private:
  Parameter weight_;
  std::optional<Parameter> bias_;
  Op linear_;
};

/// Where tokens go. `logits` for losses on them; `counts` of each expert [E].
struct Routing {
  Tensor weights_TK, indices_TK, counts_E, logits_TE;
};

/// The gate and the choice, at `b` = "moe" / "router".
class Router {
 public:
  Router(const Build& b, int64_t dim, const RouterConfig& c, Init init)
      : gate_(b / "gate", dim, c, init),
        choose_(b.op("choose",
                     "titan.moe_router/1",
                     {{"top_k", c.top_k},
                      {"score", c.score},
                      {"num_groups", c.num_groups},
                      {"num_limited_groups", c.num_limited_groups},
                      {"group_top", c.group_top},
                      {"normalise", c.normalise},
                      {"scale", c.scale}})) {}

  /// `bias_E` moves the choice only; absent when undefined. `given_TK` names
  /// the experts instead (hash layers): then only weights are computed.
  Routing operator()(Context& ctx,
                     const Tensor& x_TD,
                     const Tensor& bias_E = {},
                     const Tensor& given_TK = {}) const {
    const Tensor logits_TE = gate_(ctx, x_TD);
    auto [weights_TK, indices_TK, counts_E] =
        choose_.outputs<3>(ctx, logits_TE, bias_E, given_TK);
    return {weights_TK, indices_TK, counts_E, logits_TE};
  }

 private:
  RouterGate gate_;
  Op choose_;
};

struct ExpertsConfig {
  int64_t dim = 0;
  int64_t hidden_dim = 0;
  int64_t num_experts = 1;
  double swiglu_limit = 0;  // gate <= limit, |up| <= limit; 0: none
};

struct ExpertsInit {
  Init w1, w2, w3;
};

/// SwiGLU of each expert over its rows: the whole of the expert compute.
class InnerExperts : public Module<InnerExperts> {
 public:
  InnerExperts(Build b, const ExpertsConfig& c, const ExpertsInit& init)
      : Module(b, "layers.inner_experts"),
        limit_(c.swiglu_limit),
        w1_EFD_(b / "w1_EFD", up_sizes(c), init.w1, expert()),
        w2_EDF_(b / "w2_EDF",
                {c.num_experts, c.dim, c.hidden_dim},
                init.w2,
                expert()),
        w3_EFD_(b / "w3_EFD", up_sizes(c), init.w3, expert()),
        gate_(b.op("w1", "titan.grouped_linear/1")),
        up_(b.op("w3", "titan.grouped_linear/1")),
        down_(b.op("w2", "titan.grouped_linear/1")),
        swiglu_(b.op("swiglu", "titan.swiglu/1")) {}

  Tensor forward(Context& ctx,
                 const Tensor& x_RD,
                 const Tensor& offsets) const {
    Tensor gate_RF = gate_(ctx, x_RD, offsets, w1_EFD_(ctx));
    Tensor up_RF = up_(ctx, x_RD, offsets, w3_EFD_(ctx));
    if (limit_ > 0) {
      gate_RF = gate_RF.clamp_max(limit_);
      up_RF = up_RF.clamp(-limit_, limit_);
    }
    return down_(ctx, swiglu_(ctx, gate_RF, up_RF), offsets, w2_EDF_(ctx));
  }

 private:
  static std::vector<int64_t> up_sizes(const ExpertsConfig& c) {
    return {c.num_experts, c.hidden_dim, c.dim};
  }
  double limit_;
  Parameter w1_EFD_, w2_EDF_, w3_EFD_;
  Op gate_, up_, down_, swiglu_;
};

/// Tokens to experts and back.
class RoutedExperts : public Module<RoutedExperts> {
 public:
  RoutedExperts(Build b, const ExpertsConfig& c, const ExpertsInit& init)
      : Module(b, "layers.routed_experts"),
        inner_(b / "inner_experts", c, init),
        dispatch_(b.op("dispatch",
                       "titan.moe_dispatch/1",
                       {{"num_experts", c.num_experts}})),
        combine_(b.op("combine", "titan.moe_combine/1")) {}

  Tensor forward(Context& ctx,
                 const Tensor& x_TD,
                 const Tensor& weights_TK,
                 const Tensor& indices_TK) const {
    const auto [rows_RD, offsets, place_TK] =
        dispatch_.outputs<3>(ctx, x_TD, indices_TK);
    return combine_(ctx, inner_(ctx, rows_RD, offsets), weights_TK, place_TK);
  }

 private:
  InnerExperts inner_;
  Op dispatch_, combine_;
};

struct MoeConfig {
  int64_t dim = 0;
  int64_t hidden_dim = 0;  // of one expert
  RouterConfig router;
  int64_t shared_hidden_dim = 0;  // of all shared experts as one; 0: none
  bool has_shared_gate = false;   // their output times sigmoid(gate(x))
  double swiglu_limit = 0;        // of routed experts; 0: none
  /// How far a step moves the bias of the choice; without, there is no bias.
  std::optional<double> load_balance_coeff = std::nullopt;
  double balance_loss_coeff = 0;  // of the sequence-wise loss; 0: none

  ExpertsConfig experts() const {
    return {dim, hidden_dim, router.num_experts, swiglu_limit};
  }
};

struct MoeInit {
  Init gate;
  ExpertsInit experts;
  Init shared_linear = {};  // w1, and the gate
  Init shared_depth = {};   // w2, and w3 where shared_up has nothing else
  std::optional<Init> shared_up = std::nullopt;
};

/// Weights of one block, and those that a token meets.
inline int64_t moe_weights(const MoeConfig& c, int64_t experts_used) {
  const int64_t gate_bias = c.router.has_gate_bias ? 1 : 0;
  const int64_t shared_gate = c.has_shared_gate ? c.dim : 0;
  return 3 * c.dim * (experts_used * c.hidden_dim + c.shared_hidden_dim) +
         c.router.num_experts * (c.dim + gate_bias) + shared_gate;
}
inline int64_t moe_weights(const MoeConfig& c) {
  return moe_weights(c, c.router.num_experts);
}
inline int64_t moe_active_weights(const MoeConfig& c) {
  return moe_weights(c, c.router.top_k);
}

/// Balancing without a loss (arXiv 2408.15664): the bias of experts with more
/// tokens than the mean sinks, the others' rises; its mean stays.
inline Tensor balanced_bias(const Tensor& bias_E,
                            const Tensor& counts_E,
                            double coeff) {
  const Tensor delta_E = (counts_E.mean() - counts_E).sign() * coeff;
  return bias_E + delta_E - delta_E.mean();
}

class Moe : public Module<Moe> {
 public:
  Moe(Build b, const MoeConfig& c, const MoeInit& init)
      : Module(b, "layers.moe"),
        coeff_(c.load_balance_coeff.value_or(0)),
        loss_coeff_(c.balance_loss_coeff),
        router_(b / "router", c.dim, c.router, init.gate),
        routed_(b / "routed_experts", c.experts(), init.experts),
        tokens_per_expert_E_(b / "tokens_per_expert_E",
                             {c.router.num_experts},
                             Dtype::kF32,
                             BufferKind::kStepStatistic) {
    if (c.shared_hidden_dim > 0)
      shared_.emplace(b / "shared_experts",
                      FeedForwardConfig{.dim = c.dim,
                                        .hidden_dim = c.shared_hidden_dim,
                                        .has_gate = c.has_shared_gate},
                      init.shared_linear,
                      init.shared_depth,
                      init.shared_up);
    if (c.load_balance_coeff)
      bias_E_.emplace(b / "expert_bias_E",
                      std::vector<int64_t>{c.router.num_experts},
                      Dtype::kF32,
                      BufferKind::kPersistent);
    if (loss_coeff_ != 0)
      balance_.emplace(b.op(
          "balance", "titan.moe_balance_loss/1", {{"score", c.router.score}}));
  }

  Tensor forward(Context& ctx, const Tensor& x_TD) const {
    const Routing to = router_(ctx, x_TD, bias_E_ ? (*bias_E_)(ctx) : Tensor());
    tokens_per_expert_E_.accumulate(ctx, to.counts_E);
    if (balance_ && ctx.is_training()) add_balance_loss(ctx, to);
    const Tensor y_TD = routed_(ctx, x_TD, to.weights_TK, to.indices_TK);
    return shared_ ? y_TD + (*shared_)(ctx, x_TD) : y_TD;
  }

  void after_step(Context& ctx) const {
    if (!bias_E_ || coeff_ == 0) return;
    bias_E_->set(
        ctx, balanced_bias((*bias_E_)(ctx), tokens_per_expert_E_(ctx), coeff_));
  }

 private:
  // Over attention's documents: they are the sequences that a mean over ranks
  // and microbatches can count.
  void add_balance_loss(Context& ctx, const Routing& to) const {
    const Tensor sum =
        (*balance_)(ctx, to.logits_TE, to.indices_TK, ctx.batch("cu_seqlens"));
    ctx.add_loss("balance", sum * loss_coeff_, "segments");
  }

  double coeff_, loss_coeff_;
  Router router_;
  RoutedExperts routed_;
  Buffer tokens_per_expert_E_;
  std::optional<FeedForward> shared_;
  std::optional<Buffer> bias_E_;
  std::optional<Op> balance_;
};

}  // namespace titan::layers
