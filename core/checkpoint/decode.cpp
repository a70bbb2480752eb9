// SPDX-License-Identifier: BSD-3-Clause
#include "core/checkpoint/decode.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace titan::checkpoint {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// A float of 1 sign, `kExponent` and `kMantissa` bits whose exponent of ones
// means infinity and NaN, as IEEE 754 has it.
template <int kExponent, int kMantissa>
double decode_ieee(unsigned bits) {
  constexpr int kBias = (1 << (kExponent - 1)) - 1;
  constexpr unsigned kOnes = (1u << kExponent) - 1;
  const unsigned mantissa = bits & ((1u << kMantissa) - 1);
  const unsigned exponent = bits >> kMantissa & kOnes;
  const double sign = bits >> (kExponent + kMantissa) & 1 ? -1 : 1;
  if (exponent == kOnes)
    return mantissa != 0 ? kNan
                         : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - kBias - kMantissa);
  return sign * std::ldexp(mantissa | 1u << kMantissa,
                           static_cast<int>(exponent) - kBias - kMantissa);
}

// E4M3FN: no infinities, all ones is NaN (OCP 8-bit floating point, 2023).
double decode_f8_e4m3(std::uint8_t bits) {
  if ((bits & 0x7f) == 0x7f) return kNan;
  const int exponent = bits >> 3 & 15;
  const int mantissa = bits & 7;
  const double sign = bits >> 7 != 0 ? -1 : 1;
  return exponent == 0 ? sign * std::ldexp(mantissa, -9)
                       : sign * std::ldexp(mantissa | 8, exponent - 10);
}

// A power of two; all ones is NaN (OCP microscaling formats, 2023).
double decode_f8_e8m0(std::uint8_t bits) {
  return bits == 0xff ? kNan : std::ldexp(1.0, bits - 127);
}

template <typename Stored, typename Convert>
std::vector<double> decode_with(std::span<const std::byte> bytes,
                                const Convert& convert) {
  std::vector<double> values(bytes.size() / sizeof(Stored));
  for (std::size_t i = 0; i < values.size(); ++i) {
    Stored stored;  // copied: files do not promise alignment
    std::memcpy(&stored, bytes.data() + i * sizeof(Stored), sizeof(Stored));
    values[i] = convert(stored);
  }
  return values;
}

template <typename Stored>
std::vector<double> decode_as(std::span<const std::byte> bytes) {
  return decode_with<Stored>(
      bytes, [](Stored stored) { return static_cast<double>(stored); });
}

}  // namespace

std::vector<double> decode(Dtype dtype, std::span<const std::byte> bytes) {
  switch (dtype) {
    case Dtype::kF64:
      return decode_as<double>(bytes);
    case Dtype::kF32:
    case Dtype::kC64:
      return decode_as<float>(bytes);
    case Dtype::kF16:
      return decode_with<std::uint16_t>(bytes, decode_ieee<5, 10>);
    case Dtype::kBf16:
      return decode_with<std::uint16_t>(bytes, decode_ieee<8, 7>);
    case Dtype::kF8E4M3:
      return decode_with<std::uint8_t>(bytes, decode_f8_e4m3);
    case Dtype::kF8E5M2:
      return decode_with<std::uint8_t>(bytes, decode_ieee<5, 2>);
    case Dtype::kF8E8M0:
      return decode_with<std::uint8_t>(bytes, decode_f8_e8m0);
    case Dtype::kI64:
      return decode_as<std::int64_t>(bytes);
    case Dtype::kI32:
      return decode_as<std::int32_t>(bytes);
    case Dtype::kI16:
      return decode_as<std::int16_t>(bytes);
    case Dtype::kI8:
      return decode_as<std::int8_t>(bytes);
    case Dtype::kU64:
      return decode_as<std::uint64_t>(bytes);
    case Dtype::kU32:
      return decode_as<std::uint32_t>(bytes);
    case Dtype::kU16:
      return decode_as<std::uint16_t>(bytes);
    case Dtype::kU8:
    case Dtype::kBool:
      return decode_as<std::uint8_t>(bytes);
  }
  return {};  // every enumerator returned above
}

}  // namespace titan::checkpoint
