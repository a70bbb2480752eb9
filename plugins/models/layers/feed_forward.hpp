// SPDX-License-Identifier: BSD-3-Clause
// SwiGLU feed-forward: w2(silu(w1 x) * (w3 x)). Legend: T tokens, D model dim,
// F hidden dim.
#pragma once

#include <titan/sdk.hpp>

namespace titan::layers {

struct FeedForwardConfig {
  int64_t dim;
  int64_t hidden_dim;
  bool has_bias = false;
};

class FeedForward : public Module<FeedForward> {
 public:
  /// `linear_init` starts w1, `depth_init` w2 and w3.
  FeedForward(Build b,
              const FeedForwardConfig& c,
              Init linear_init,
              Init depth_init)
      : Module(b, "layers.feed_forward"),
        w1_(b / "w1", {c.dim, c.hidden_dim, c.has_bias}, linear_init, column()),
        w2_(b / "w2", {c.hidden_dim, c.dim, c.has_bias}, depth_init, row()),
        w3_(b / "w3", {c.dim, c.hidden_dim, c.has_bias}, depth_init, column()),
        swiglu_(b.op("swiglu", "titan.swiglu/1")) {}

  Tensor forward(Context& ctx, const Tensor& x_TD) const {
    const Tensor h_TF = swiglu_(ctx, w1_(ctx, x_TD), w3_(ctx, x_TD));
    return w2_(ctx, h_TF);
  }

 private:
  Linear w1_, w2_, w3_;
  Op swiglu_;
};

}  // namespace titan::layers
