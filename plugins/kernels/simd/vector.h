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
inline void store(Vec value, BFloat16* to) {
  const hn::Rebind<uint16_t, Floats> halves;
  const hn::RebindToUnsigned<Floats> words;
  const auto bits = hn::BitCast(words, value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(words, 1));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(words, 0x7fff)));
  const auto quiet = hn::Or(bits, hn::Set(words, 0x400000));
  const auto is_nan = hn::RebindMask(words, hn::IsNaN(value));
  const auto chosen = hn::IfThenElse(is_nan, quiet, rounded);
  hn::StoreU(hn::TruncateTo(halves, hn::ShiftRight<16>(chosen)),
             halves,
             reinterpret_cast<uint16_t*>(to));
}

/// The first `count` < kLanes elements; the other lanes are 0.
template <typename Element>
Vec load_first(const Element* from, int64_t count) {
  Element padded[kLanes] = {};
  std::memcpy(padded, from, static_cast<size_t>(count) * sizeof(Element));
  return load(padded);
}
template <typename Element>
void store_first(Vec value, Element* to, int64_t count) {
  Element padded[kLanes];
  store(value, padded);
  std::memcpy(to, padded, static_cast<size_t>(count) * sizeof(Element));
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

constexpr float kExp2[] = {1.0f,
                           6.931472066e-1f,
                           2.402265090e-1f,
                           5.550327226e-2f,
                           9.618056678e-3f,
                           1.340042819e-3f,
                           1.546144467e-4f};

/// 2^x for x <= 128, exactly 0 below -200 and for -infinity, NaN for NaN.
/// x = n + f, n whole, |f| <= 1/2; 2^f by its Chebyshev interpolation of degree
/// 6 (relative error 3e-9 before rounding).
inline Vec exp2(Vec x) {
  // In this order Max returns x when it is NaN.
  const Vec bounded = hn::Max(broadcast(-200.0f), x);
  const Vec whole = hn::Round(bounded);
  const Vec f = hn::Sub(bounded, whole);
  Vec p = broadcast(kExp2[6]);
#pragma GCC unroll 6
  for (int i = 5; i >= 0; --i) p = hn::MulAdd(p, f, broadcast(kExp2[i]));
  return scale_by_power(p, whole);
}

}  // namespace titan::kernels
