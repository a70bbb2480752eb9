// SPDX-License-Identifier: BSD-3-Clause
// The functions of titan.activation/1 and titan.swiglu/1 with their slopes, in
// fp32 on one vector.
#pragma once

#include "plugins/kernels/simd/vector.h"

namespace titan::kernels::activation {

struct ValueAndSlope {
  Vec value, slope;
};

/// x s(a x) for the sigmoid s: silu (a = 1), quick gelu (a = 1.702,
/// arXiv 1606.08415, section 2).
template <typename Slope>
struct Gated {
  static Vec value(Vec x) {
    return hn::Mul(x, sigmoid(hn::Mul(x, broadcast(Slope::kFactor))));
  }
  static ValueAndSlope both(Vec x) {
    const Vec one = broadcast(1.0f);
    const Vec ax = hn::Mul(x, broadcast(Slope::kFactor));
    const Vec s = sigmoid(ax);
    return {hn::Mul(x, s), hn::Mul(s, hn::MulAdd(ax, hn::Sub(one, s), one))};
  }
};

struct One {
  static constexpr float kFactor = 1.0f;
};
struct Quick {
  static constexpr float kFactor = 1.702f;
};
using Silu = Gated<One>;
using GeluQuick = Gated<Quick>;

/// x Phi(x), Phi the normal distribution function.
struct Gelu {
  struct Normal {
    Vec below;  // Phi(x)
    Vec bell;   // e^(-x^2/2)
  };
  /// Phi(-|x|) = e^(-t^2) u P(u) / 2 with t = |x| / sqrt(2), u = 1 / (1 + t/2):
  /// a fit of u P(u) to e^(t^2) erfc(t) over 0 <= t <= 14, least relative error
  /// (4.5e-8), so that the left tail keeps its digits. `s` is t sqrt(log2(e)),
  /// which makes the bell 2^(-s^2); beyond s = 14 it is 0.
  static Normal normal(Vec x) {
    constexpr float kFit[] = {0.282084332f,
                              0.282412098f,
                              0.242835086f,
                              0.203752759f,
                              -0.0291493376f,
                              0.281734794f,
                              -0.490407964f,
                              0.286124853f,
                              -0.059386665f};
    constexpr float kToS = 0.849321800f;      // sqrt(log2(e) / 2)
    constexpr float kHalfOfT = 0.416277306f;  // 1 / (2 sqrt(log2(e)))
    const Vec one = broadcast(1.0f);
    // In this order Min returns |x| when it is NaN.
    const Vec s =
        hn::Min(broadcast(14.0f), hn::Mul(hn::Abs(x), broadcast(kToS)));
    const Vec u = reciprocal(hn::MulAdd(s, broadcast(kHalfOfT), one));
    Vec p = broadcast(kFit[8]);
#pragma GCC unroll 8
    for (int i = 7; i >= 0; --i) p = hn::MulAdd(p, u, broadcast(kFit[i]));
    const Vec bell = exp2_near(hn::Neg(hn::Mul(s, s)));
    const Vec tail = hn::Mul(hn::Mul(bell, broadcast(0.5f)), hn::Mul(u, p));
    const auto is_left = hn::Lt(x, hn::Zero(kFloats));
    return {hn::IfThenElse(is_left, tail, hn::Sub(one, tail)), bell};
  }
  static Vec value(Vec x) {
    return hn::Mul(x, normal(x).below);
  }
  static ValueAndSlope both(Vec x) {
    constexpr float kDensity = 0.398942280f;  // 1 / sqrt(2 pi)
    const Normal at = normal(x);
    return {hn::Mul(x, at.below),
            hn::MulAdd(hn::Mul(x, broadcast(kDensity)), at.bell, at.below)};
  }
};

/// x (1 + tanh(v)) / 2 = x s(2v), v = sqrt(2/pi) (x + 0.044715 x^3).
struct GeluTanh {
  static constexpr float kLinear = 1.59576912f;   // 2 sqrt(2/pi)
  static constexpr float kCubic = 0.0713548162f;  // times 0.044715
  static Vec gate(Vec x) {
    const Vec slope =
        hn::MulAdd(hn::Mul(x, x), broadcast(kCubic), broadcast(kLinear));
    return sigmoid(hn::Mul(x, slope));
  }
  static Vec value(Vec x) { return hn::Mul(x, gate(x)); }
  static ValueAndSlope both(Vec x) {
    const Vec s = gate(x);
    const Vec value = hn::Mul(x, s);
    const Vec inner =
        hn::MulAdd(hn::Mul(x, x), broadcast(3 * kCubic), broadcast(kLinear));
    const Vec rest = hn::Mul(hn::Sub(broadcast(1.0f), s), inner);
    return {value, hn::MulAdd(value, rest, s)};
  }
};

struct Relu {
  static Vec value(Vec x) {
    // In this order Max returns x when it is NaN.
    return hn::Max(hn::Zero(kFloats), x);
  }
  static ValueAndSlope both(Vec x) {
    const auto is_right = hn::Gt(x, hn::Zero(kFloats));
    return {value(x), hn::IfThenElseZero(is_right, broadcast(1.0f))};
  }
};

struct ReluSquared {
  static Vec value(Vec x) {
    const Vec right = Relu::value(x);
    return hn::Mul(right, right);
  }
  static ValueAndSlope both(Vec x) {
    const Vec right = Relu::value(x);
    return {hn::Mul(right, right), hn::Add(right, right)};
  }
};

}  // namespace titan::kernels::activation
