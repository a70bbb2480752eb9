// SPDX-License-Identifier: BSD-3-Clause
#include "core/checkpoint/decode.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <catch2/catch.hpp>

using namespace titan::checkpoint;

namespace {

template <typename Stored>
std::vector<double> decode_values(Dtype dtype, std::vector<Stored> values) {
  return decode(dtype, std::as_bytes(std::span(values)));
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

// Bit patterns from IEEE 754 and the OCP specifications' tables of limits.
TEST_CASE("half precision decodes its limits", "[unit]") {
  CHECK(decode_values<std::uint16_t>(Dtype::kF16,
                                     {0x3c00,
                                      0xc000,
                                      0x7bff,
                                      0x0400,
                                      0x0001,
                                      0x3555,
                                      0x7c00,
                                      0xfc00,
                                      0x0000}) ==
        std::vector<double>{1,
                            -2,
                            65504,
                            std::ldexp(1, -14),
                            std::ldexp(1, -24),
                            0.333251953125,
                            kInfinity,
                            -kInfinity,
                            0});
  CHECK(std::isnan(decode_values<std::uint16_t>(Dtype::kF16, {0x7e00})[0]));
}

TEST_CASE("bfloat16 decodes to the float that it cuts", "[unit]") {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const std::uint32_t wide = bits << 16;
    float expected = 0;
    std::memcpy(&expected, &wide, sizeof(expected));
    const double got = decode_values<std::uint16_t>(
        Dtype::kBf16, {static_cast<std::uint16_t>(bits)})[0];
    if (std::isnan(expected))
      REQUIRE(std::isnan(got));
    else
      REQUIRE(got == expected);
  }
}

TEST_CASE("eight-bit floats decode their limits", "[unit]") {
  CHECK(decode_values<std::uint8_t>(Dtype::kF8E4M3,
                                    {0x38, 0x7e, 0x08, 0x01, 0x07, 0xb8}) ==
        std::vector<double>{1,
                            448,
                            std::ldexp(1, -6),
                            std::ldexp(1, -9),
                            0.875 * std::ldexp(1, -6),
                            -1});
  CHECK(std::isnan(decode_values<std::uint8_t>(Dtype::kF8E4M3, {0xff})[0]));
  CHECK(decode_values<std::uint8_t>(Dtype::kF8E5M2,
                                    {0x3c, 0x7b, 0x04, 0x01, 0x7c}) ==
        std::vector<double>{
            1, 57344, std::ldexp(1, -14), std::ldexp(1, -16), kInfinity});
  CHECK(decode_values<std::uint8_t>(Dtype::kF8E8M0, {127, 0, 254}) ==
        std::vector<double>{1, std::ldexp(1, -127), std::ldexp(1, 127)});
  CHECK(std::isnan(decode_values<std::uint8_t>(Dtype::kF8E8M0, {255})[0]));
}

TEST_CASE("wide floats and integers decode as themselves", "[unit]") {
  CHECK(decode_values<double>(Dtype::kF64, {0.1}) == std::vector<double>{0.1});
  CHECK(decode_values<float>(Dtype::kF32, {0.1f}) == std::vector<double>{0.1f});
  CHECK(decode_values<float>(Dtype::kC64, {1, 2}) == std::vector<double>{1, 2});
  CHECK(decode_values<std::int64_t>(Dtype::kI64, {-3})[0] == -3);
  CHECK(decode_values<std::int32_t>(Dtype::kI32, {-3})[0] == -3);
  CHECK(decode_values<std::int16_t>(Dtype::kI16, {-3})[0] == -3);
  CHECK(decode_values<std::int8_t>(Dtype::kI8, {-3})[0] == -3);
  CHECK(decode_values<std::uint64_t>(Dtype::kU64, {1ull << 63})[0] == 0x1p63);
  CHECK(decode_values<std::uint32_t>(Dtype::kU32, {~0u})[0] == 4294967295.0);
  CHECK(decode_values<std::uint16_t>(Dtype::kU16, {65535})[0] == 65535);
  CHECK(decode_values<std::uint8_t>(Dtype::kU8, {255})[0] == 255);
  CHECK(decode_values<std::uint8_t>(Dtype::kBool, {1})[0] == 1);
}
