// SPDX-License-Identifier: BSD-3-Clause
// Feed-forward: w2(f(w1 x) * (w3 x)), without gating w2(f(w1 x)); optionally
// times sigmoid(gate x). Legend: T tokens, D model dim, F hidden dim.
#pragma once

#include <optional>
#include <string>

#include <titan/sdk.hpp>

namespace titan::layers {

struct FeedForwardConfig {
  int64_t dim;
  int64_t hidden_dim;
  bool has_bias = false;
  bool has_gate = false;  // the output times sigmoid of one number per token
  bool is_gated = true;   // hidden values times w3 x
  std::string activation = "silu";  // f; as titan.activation/1 names them
};

/// Weights of one feed-forward.
inline int64_t feed_forward_weights(const FeedForwardConfig& c) {
  const int64_t num_up = c.is_gated ? 2 : 1;
  const int64_t biases = c.has_bias ? num_up * c.hidden_dim + c.dim : 0;
  const int64_t gate = c.has_gate ? c.dim : 0;
  return (num_up + 1) * c.dim * c.hidden_dim + biases + gate;
}

class FeedForward : public Module<FeedForward> {
 public:
  /// `linear_init` starts w1 and the gate, `depth_init` w2, and w3 where
  /// `up_init` has nothing else for it.
  FeedForward(Build b,
              const FeedForwardConfig& c,
              Init linear_init,
              Init depth_init,
              std::optional<Init> up_init = std::nullopt)
      : Module(b, "layers.feed_forward"),
        w1_(b / "w1", {c.dim, c.hidden_dim, c.has_bias}, linear_init, column()),
        w2_(b / "w2", {c.hidden_dim, c.dim, c.has_bias}, depth_init, row()) {
    if (c.is_gated)
      w3_.emplace(b / "w3",
                  Features{c.dim, c.hidden_dim, c.has_bias},
                  up_init.value_or(depth_init),
                  column());
    activation_ = c.is_gated && c.activation == "silu"
                      ? b.op("swiglu", "titan.swiglu/1")
                      : b.op("activation",
                             "titan.activation/1",
                             {{"function", c.activation}});
    if (c.has_gate) gate_.emplace(b / "gate", Features{c.dim, 1}, linear_init);
  }

  Tensor forward(Context& ctx, const Tensor& x_TD) const {
    const Tensor up_TF = w3_ ? (*w3_)(ctx, x_TD) : Tensor();
    const Tensor h_TF = activation_(ctx, w1_(ctx, x_TD), up_TF);
    const Tensor y_TD = w2_(ctx, h_TF);
    return gate_ ? y_TD * (*gate_)(ctx, x_TD).sigmoid() : y_TD;
  }

 private:
  Linear w1_, w2_;
  std::optional<Linear> w3_, gate_;
  Op activation_ = nullptr;
};

}  // namespace titan::layers
