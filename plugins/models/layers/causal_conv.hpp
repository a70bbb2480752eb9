// SPDX-License-Identifier: BSD-3-Clause
// Depthwise convolution over the tokens before, within a document, as mixers of
// linear attention have it before their recurrence.
#pragma once

#include <cmath>
#include <vector>

#include <titan/sdk.hpp>

namespace titan::layers {

struct CausalConvConfig {
  int64_t channels;
  int64_t taps;  // the token itself and taps - 1 before it
  bool has_bias = false;
  bool has_silu = true;
};

/// x [T, C] -> [T, C]; weight [C, 1, taps]. Starts as torch's Conv1d does.
class CausalConv1d : public Leaf {
 public:
  CausalConv1d(const Build& b,
               const CausalConvConfig& c,
               Shard shard = replicate())
      : Leaf(b,
             "titan.causal_conv1d/1",
             {{"activation", c.has_silu ? "silu" : "none"}},
             parameters(c, shard)) {}

  Tensor operator()(Context& ctx, const Tensor& x_TC) const {
    return Leaf::operator()(ctx, x_TC, ctx.batch("cu_seqlens"), none);
  }

 private:
  static std::vector<ParameterSpec> parameters(const CausalConvConfig& c,
                                               Shard shard) {
    const double bound = 1 / std::sqrt(static_cast<double>(c.taps));
    const Init init = init::uniform(-bound, bound);
    std::vector<ParameterSpec> out{
        {"weight", {c.channels, 1, c.taps}, init, shard}};
    if (c.has_bias) out.push_back({"bias", {c.channels}, init, shard});
    return out;
  }
};

}  // namespace titan::layers
