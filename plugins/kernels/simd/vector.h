// SPDX-License-Identifier: BSD-3-Clause
// Vectors of floats for the target a kernel library is compiled for: Highway's
// static dispatch, so one source serves each x86 level and whatever else
// Highway knows. bf16 is widened on load and rounded to nearest even on store.
#pragma once

#define HWY_COMPILE_ONLY_STATIC
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <hwy/highway.h>

namespace titan::kernels {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Vec = hn::Vec<Floats>;
using Mask = hn::Mask<Floats>;

constexpr Floats kFloats;
/// Floats in a vector.
constexpr int64_t kLanes = HWY_MAX_BYTES / sizeof(float);
/// Registers that a tile may fill.
constexpr int kRegisters = HWY_MAX_BYTES == 64 ? 32 : 16;

struct BFloat16 {
  uint16_t bits;
};

inline float to_float(float value) {
  return value;
}
inline float to_float(BFloat16 value) {
  return std::bit_cast<float>(uint32_t{value.bits} << 16);
}

inline void from_float(float value, float& out) {
  out = value;
}
/// Nearest even; NaN stays NaN.
inline void from_float(float value, BFloat16& out) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  const uint32_t rounded = bits + 0x7fffu + (bits >> 16 & 1);
  out.bits =
      static_cast<uint16_t>(is_nan ? (bits >> 16 | 0x40u) : rounded >> 16);
}

inline Vec broadcast(float value) {
  return hn::Set(kFloats, value);
}

inline Vec load(const float* from) {
  return hn::LoadU(kFloats, from);
}
inline Vec load(const BFloat16* from) {
  const hn::Rebind<uint16_t, Floats> halves;
  const hn::RebindToUnsigned<Floats> words;
  const auto bits = hn::LoadU(halves, reinterpret_cast<const uint16_t*>(from));
  return hn::BitCast(kFloats, hn::ShiftLeft<16>(hn::PromoteTo(words, bits)));
}

inline void store(Vec value, float* to) {
  hn::StoreU(value, kFloats, to);
}
namespace detail {

/// The value rounded to bf16 in the upper half of each word; the lower half is
/// what was there.
inline auto rounded_bits(Vec value) {
  const hn::RebindToUnsigned<Floats> words;
  const auto bits = hn::BitCast(words, value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(words, 1));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(words, 0x7fff)));
  // What arithmetic gives is a quiet NaN: its upper half is one too.
  const auto is_nan = hn::RebindMask(words, hn::IsNaN(value));
  return hn::IfThenElse(is_nan, bits, rounded);
}

inline auto rounded_halves(Vec value) {
  const hn::Rebind<uint16_t, Floats> halves;
  return hn::TruncateTo(halves, hn::ShiftRight<16>(rounded_bits(value)));
}

}  // namespace detail

inline void store(Vec value, BFloat16* to) {
  const hn::Rebind<uint16_t, Floats> halves;
  hn::StoreU(
      detail::rounded_halves(value), halves, reinterpret_cast<uint16_t*>(to));
}

/// What a store and a load of Element would make of the value.
template <typename Element>
Vec round_to(Vec value) {
  if constexpr (std::is_same_v<Element, float>) {
    return value;
  } else {
    const hn::RebindToUnsigned<Floats> words;
    return hn::BitCast(
        kFloats,
        hn::And(detail::rounded_bits(value), hn::Set(words, 0xffff0000u)));
  }
}

/// The first `count` < kLanes elements; the other lanes are 0. AVX-512 touches
/// no memory behind a masked lane; elsewhere that takes a copy.
template <typename Element>
Vec load_first(const Element* from, int64_t count) {
  const auto lanes = static_cast<size_t>(count);
#if HWY_TARGET <= HWY_AVX3
  if constexpr (std::is_same_v<Element, float>) {
    return hn::MaskedLoad(hn::FirstN(kFloats, lanes), kFloats, from);
  } else {
    const hn::Rebind<uint16_t, Floats> halves;
    const hn::RebindToUnsigned<Floats> words;
    const auto bits = hn::MaskedLoad(hn::FirstN(halves, lanes),
                                     halves,
                                     reinterpret_cast<const uint16_t*>(from));
    return hn::BitCast(kFloats, hn::ShiftLeft<16>(hn::PromoteTo(words, bits)));
  }
#else
  Element padded[kLanes] = {};
  std::memcpy(padded, from, lanes * sizeof(Element));
  return load(padded);
#endif
}
template <typename Element>
void store_first(Vec value, Element* to, int64_t count) {
  const auto lanes = static_cast<size_t>(count);
#if HWY_TARGET <= HWY_AVX3
  if constexpr (std::is_same_v<Element, float>) {
    hn::BlendedStore(value, hn::FirstN(kFloats, lanes), kFloats, to);
  } else {
    const hn::Rebind<uint16_t, Floats> halves;
    hn::BlendedStore(detail::rounded_halves(value),
                     hn::FirstN(halves, lanes),
                     halves,
                     reinterpret_cast<uint16_t*>(to));
  }
#else
  Element padded[kLanes];
  store(value, padded);
  std::memcpy(to, padded, lanes * sizeof(Element));
#endif
}

/// x 2^n for whole n in [-200, 128].
inline Vec scale_by_power(Vec x, Vec n) {
#if HWY_TARGET <= HWY_AVX3
  return Vec{_mm512_scalef_ps(x.raw, n.raw)};
#else
  // In two factors, so that neither leaves the range of exponents.
  const hn::RebindToSigned<Floats> integers;
  const auto power = [&](auto exponent) {
    return hn::BitCast(
        kFloats, hn::ShiftLeft<23>(hn::Add(exponent, hn::Set(integers, 127))));
  };
  const auto whole = hn::ConvertTo(integers, n);
  const auto half = hn::ShiftRight<1>(whole);
  return hn::Mul(hn::Mul(x, power(half)), power(hn::Sub(whole, half)));
#endif
}

namespace detail {

constexpr float kExp2[] = {1.0f,
                           6.931472066e-1f,
                           2.402265090e-1f,
                           5.550327226e-2f,
                           9.618056678e-3f,
                           1.340042819e-3f,
                           1.546144467e-4f};

/// 2^f for |f| <= 1/2: Chebyshev interpolation of degree 6 (relative error 3e-9
/// before rounding).
inline Vec exp2_of_fraction(Vec f) {
  Vec p = broadcast(kExp2[6]);
#pragma GCC unroll 6
  for (int i = 5; i >= 0; --i) p = hn::MulAdd(p, f, broadcast(kExp2[i]));
  return p;
}

}  // namespace detail

/// 2^x for x in [-200, 128] or NaN.
inline Vec exp2_near(Vec x) {
  const Vec whole = hn::Round(x);
  return scale_by_power(detail::exp2_of_fraction(hn::Sub(x, whole)), whole);
}

/// 2^x for x <= 128, exactly 0 below -200 and for -infinity, NaN for NaN.
inline Vec exp2(Vec x) {
  // In this order Max returns x when it is NaN.
  return exp2_near(hn::Max(broadcast(-200.0f), x));
}

/// e^x for any x: 0, infinity and NaN where they are due. log2(e) in two
/// floats: rounding x log2(e) alone costs x ulp.
inline Vec exp(Vec x) {
  constexpr float kHigh = 1.44269502f;
  constexpr float kLow = 1.92596299e-8f;
  // In this order Min and Max return x when it is NaN.
  const Vec bounded = hn::Min(broadcast(89.0f), hn::Max(broadcast(-138.0f), x));
  const Vec whole = hn::Round(hn::Mul(bounded, broadcast(kHigh)));
  const Vec f = hn::MulAdd(
      bounded, broadcast(kLow), hn::MulSub(bounded, broadcast(kHigh), whole));
  return scale_by_power(detail::exp2_of_fraction(f), whole);
}

/// 1 / x for x from 1 to 2^100, to about an ulp: a division takes 16 cycles.
inline Vec reciprocal(Vec x) {
#if HWY_TARGET <= HWY_AVX3
  // 14 bits; a step of Newton doubles them.
  const Vec r = hn::ApproximateReciprocal(x);
  return hn::MulAdd(r, hn::NegMulAdd(x, r, broadcast(1.0f)), r);
#else
  return hn::Div(broadcast(1.0f), x);
#endif
}

/// 1 / (1 + e^-x) by the power of -|x|, which does not overflow.
inline Vec sigmoid(Vec x) {
  const Vec one = broadcast(1.0f);
  const Vec power = exp(hn::Neg(hn::Abs(x)));
  const Vec larger = reciprocal(hn::Add(one, power));
  const auto is_left = hn::Lt(x, hn::Zero(kFloats));
  return hn::IfThenElse(is_left, hn::Mul(power, larger), larger);
}

}  // namespace titan::kernels
