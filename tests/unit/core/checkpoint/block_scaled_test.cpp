// SPDX-License-Identifier: BSD-3-Clause
// Expected numbers are worked out by hand from the definitions of the formats.
#include "core/checkpoint/block_scaled.h"

#include <catch2/catch.hpp>

#include <titan/error.h>

#include "core/checkpoint/cast.h"
#include "core/checkpoint/decode.h"

using namespace titan::checkpoint;
using Catch::Contains;

namespace {

using Values = std::vector<double>;

TensorSource make_source(const std::string& name,
                         Dtype dtype,
                         std::vector<std::int64_t> shape,
                         std::vector<std::byte> bytes) {
  return {{name, dtype, std::move(shape)},
          [bytes = std::move(bytes)](const ByteSink& sink) {
            // Two pieces: nothing may rely on seeing all at once.
            const std::size_t half = bytes.size() / 2;
            sink(std::span(bytes).first(half));
            sink(std::span(bytes).subspan(half));
          }};
}

std::vector<std::byte> float_bytes(const std::vector<float>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

Values values_of(const TensorSource& tensor) {
  return decode(tensor.spec.dtype, collect_bytes(tensor));
}

}  // namespace

TEST_CASE("fp8 weights are multiplied by the scale of their block", "[unit]") {
  // 130 x 129: four blocks, three of them cut. 0x38 is 1, 0xc0 is -2.
  std::vector<std::byte> weight(130 * 129, std::byte{0x38});
  weight[129 * 129 + 128] = std::byte{0xc0};
  const std::vector<TensorSource> decoded = decode_block_scaled(
      {make_source("w", Dtype::kF8E4M3, {130, 129}, weight),
       make_source(
           "w_scale_inv", Dtype::kF32, {2, 2}, float_bytes({2, 3, 5, 0.25f})),
       make_source("other", Dtype::kF32, {1}, float_bytes({9}))},
      Dtype::kBf16);
  REQUIRE(decoded.size() == 2);
  CHECK(decoded[0].spec.name == "w");
  CHECK(decoded[0].spec.dtype == Dtype::kBf16);
  CHECK(decoded[1].spec.name == "other");
  const Values values = values_of(decoded[0]);
  REQUIRE(values.size() == 130 * 129);
  CHECK(values[0] == 2);
  CHECK(values[127 * 129 + 127] == 2);
  CHECK(values[128] == 3);
  CHECK(values[128 * 129] == 5);
  CHECK(values[128 * 129 + 128] == 0.25);
  CHECK(values[129 * 129 + 128] == -0.5);
}

TEST_CASE("MXFP4 becomes the transposed numbers of each expert", "[unit]") {
  // 2 experts, 2 rows, 1 group. Byte i of a row: low nibble i, high 15 - i.
  std::vector<std::byte> blocks;
  for (int row = 0; row < 4; ++row)
    for (int i = 0; i < 16; ++i)
      blocks.push_back(static_cast<std::byte>(i | (15 - i) << 4));
  const std::vector<std::byte> scales = {
      std::byte{127}, std::byte{128}, std::byte{126}, std::byte{130}};
  const auto decoded = decode_block_scaled(
      {make_source("e.gate_up_proj_blocks", Dtype::kU8, {2, 2, 1, 16}, blocks),
       make_source("e.gate_up_proj_scales", Dtype::kU8, {2, 2, 1}, scales)},
      Dtype::kF32);
  REQUIRE(decoded.size() == 1);
  CHECK(decoded[0].spec.name == "e.gate_up_proj");
  CHECK(decoded[0].spec.shape == std::vector<std::int64_t>{2, 32, 2});
  const Values values = values_of(decoded[0]);
  const Values table = {
      0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6};
  const Values factor = {1, 2, 0.5, 8};
  for (std::size_t expert = 0; expert < 2; ++expert)
    for (std::size_t row = 0; row < 2; ++row)
      for (std::size_t i = 0; i < 16; ++i) {
        const double scale = factor[expert * 2 + row];
        const std::size_t column = expert * 64 + row;
        CHECK(values[column + 2 * i * 2] == table[i] * scale);
        CHECK(values[column + (2 * i + 1) * 2] == table[15 - i] * scale);
      }
}

TEST_CASE("block-scaled tensor without its partner is refused", "[unit]") {
  const auto f8 =
      make_source("w", Dtype::kF8E4M3, {1, 1}, std::vector<std::byte>(1));
  const auto scale =
      make_source("w_scale_inv", Dtype::kF32, {1, 1}, float_bytes({1}));
  const auto wide =
      make_source("w_scale_inv", Dtype::kF32, {1, 2}, float_bytes({1, 1}));
  const auto blocks = make_source(
      "x_blocks", Dtype::kU8, {1, 1, 1, 16}, std::vector<std::byte>(16));
  CHECK_THROWS_WITH(decode_block_scaled({scale}, Dtype::kF32),
                    Contains("expected \"w\" beside"));
  CHECK_THROWS_WITH(decode_block_scaled({f8, wide}, Dtype::kF32),
                    Contains("expected F32 (1, 1)"));
  CHECK_THROWS_WITH(decode_block_scaled({blocks}, Dtype::kF32),
                    Contains("\"x_scales\" beside"));
}
