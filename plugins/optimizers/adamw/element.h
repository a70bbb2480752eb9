// SPDX-License-Identifier: BSD-3-Clause
// Loading and storing elements in the type that AdamW computes in: float for
// bf16 and float, double for double. bf16 rounds to nearest even.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace titan::adamw {

struct BFloat16 {
  uint16_t bits;
};

inline float load(float value) {
  return value;
}
inline double load(double value) {
  return value;
}
inline float load(BFloat16 value) {
  return std::bit_cast<float>(uint32_t{value.bits} << 16);
}

inline void store(float& out, float value) {
  out = value;
}
inline void store(double& out, double value) {
  out = value;
}
inline void store(BFloat16& out, float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  // NaN keeps its sign and stays a NaN; the rounding below could carry it to
  // Inf.
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  const uint32_t rounded = bits + 0x7fffu + (bits >> 16 & 1);
  out.bits =
      static_cast<uint16_t>(is_nan ? (bits >> 16 | 0x40u) : rounded >> 16);
}

/// The type sums are taken in.
template <typename Element>
using Accumulator =
    std::conditional_t<std::is_same_v<Element, double>, double, float>;

}  // namespace titan::adamw
