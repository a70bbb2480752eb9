// SPDX-License-Identifier: BSD-3-Clause
// SwiGLU feed-forward: w2(silu(w1 x) * (w3 x)), optionally times sigmoid(gate
// x). Legend: T tokens, D model dim, F hidden dim.
#pragma once

#include <optional>

#include <titan/sdk.hpp>

namespace titan::layers {

struct FeedForwardConfig {
  int64_t dim;
  int64_t hidden_dim;
  bool has_bias = false;
  bool has_gate = false;  // the output times sigmoid of one number per token
};

/// Weights of one feed-forward.
inline int64_t feed_forward_weights(const FeedForwardConfig& c) {
  const int64_t biases = c.has_bias ? 2 * c.hidden_dim + c.dim : 0;
  const int64_t gate = c.has_gate ? c.dim : 0;
  return 3 * c.dim * c.hidden_dim + biases + gate;
}

class FeedForward : public Module<FeedForward> {
 public:
  /// `linear_init` starts w1 and the gate, `depth_init` w2 and w3.
  FeedForward(Build b,
              const FeedForwardConfig& c,
              Init linear_init,
              Init depth_init)
      : Module(b, "layers.feed_forward"),
        w1_(b / "w1", {c.dim, c.hidden_dim, c.has_bias}, linear_init, column()),
        w2_(b / "w2", {c.hidden_dim, c.dim, c.has_bias}, depth_init, row()),
        w3_(b / "w3", {c.dim, c.hidden_dim, c.has_bias}, depth_init, column()),
        swiglu_(b.op("swiglu", "titan.swiglu/1")) {
    if (c.has_gate) gate_.emplace(b / "gate", Features{c.dim, 1}, linear_init);
  }

  Tensor forward(Context& ctx, const Tensor& x_TD) const {
    const Tensor h_TF = swiglu_(ctx, w1_(ctx, x_TD), w3_(ctx, x_TD));
    const Tensor y_TD = w2_(ctx, h_TF);
    return gate_ ? y_TD * (*gate_)(ctx, x_TD).sigmoid() : y_TD;
  }

 private:
  Linear w1_, w2_, w3_;
  std::optional<Linear> gate_;
  Op swiglu_;
};

}  // namespace titan::layers
