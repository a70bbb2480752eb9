// SPDX-License-Identifier: BSD-3-Clause
#include "core/checkpoint/block_scaled.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include <titan/error.h>

#include "core/checkpoint/cast.h"

namespace titan::checkpoint {
namespace {

constexpr std::int64_t kBlock = 128;      // DeepSeek-V3's weight_block_size
constexpr std::int64_t kGroupBytes = 16;  // 32 numbers of MXFP4
constexpr std::size_t kPieceElements = std::size_t{1} << 20;

// OCP microscaling formats, 2023, section 5.3.3.
constexpr std::array<float, 16> kE2M1 = {
    0.0f,
    0.5f,
    1.0f,
    1.5f,
    2.0f,
    3.0f,
    4.0f,
    6.0f,
    -0.0f,
    -0.5f,
    -1.0f,
    -1.5f,
    -2.0f,
    -3.0f,
    -4.0f,
    -6.0f,
};

constexpr std::string_view kScaleInverse = "_scale_inv";
constexpr std::string_view kBlocks = "_blocks";
constexpr std::string_view kScales = "_scales";

using ByName = std::map<std::string, const TensorSource*, std::less<>>;
using Shape = std::vector<std::int64_t>;

std::string without(const std::string& name, std::string_view ending) {
  return name.substr(0, name.size() - ending.size());
}

const TensorSource& find_partner(const ByName& tensors,
                                 const std::string& name,
                                 const std::string& of) {
  const auto found = tensors.find(name);
  TITAN_USER_CHECK(found != tensors.end(),
                   "[checkpoint] block-scaled tensor: expected \"",
                   name,
                   "\" beside \"",
                   of,
                   "\", got none");
  return *found->second;
}

void require_form(const TensorSource& tensor, Dtype dtype, const Shape& shape) {
  TITAN_USER_CHECK(tensor.spec.dtype == dtype && tensor.spec.shape == shape,
                   "[checkpoint] \"",
                   tensor.spec.name,
                   "\": expected ",
                   dtype_name(dtype),
                   ' ',
                   shape,
                   ", got ",
                   dtype_name(tensor.spec.dtype),
                   ' ',
                   tensor.spec.shape);
}

void stream_f8(const TensorSource& weight,
               const TensorSource& scale,
               Dtype to,
               const ByteSink& sink) {
  std::vector<float> scales;
  decode_floats(Dtype::kF32, collect_bytes(scale), scales);
  const std::int64_t columns = weight.spec.shape[1];
  const std::int64_t blocks = scale.spec.shape[1];
  std::vector<float> values;
  std::vector<std::byte> out;
  std::int64_t row = 0;
  std::int64_t column = 0;
  weight.bytes([&](std::span<const std::byte> piece) {
    for (std::size_t at = 0; at < piece.size(); at += kPieceElements) {
      decode_floats(
          Dtype::kF8E4M3,
          piece.subspan(at, std::min(kPieceElements, piece.size() - at)),
          values);
      for (float& value : values) {
        value *= scales[static_cast<std::size_t>(row / kBlock * blocks +
                                                 column / kBlock)];
        if (++column < columns) continue;
        column = 0;
        ++row;
      }
      out.clear();
      encode_floats(to, values, out);
      sink(out);
    }
  });
}

TensorSource decode_f8(const TensorSource& weight,
                       const TensorSource& scale,
                       Dtype to) {
  const Shape& shape = weight.spec.shape;
  TITAN_USER_CHECK(shape.size() == 2,
                   "[checkpoint] \"",
                   weight.spec.name,
                   "\" with block scales: expected 2 dimensions, got shape ",
                   shape);
  require_form(weight, Dtype::kF8E4M3, shape);
  require_form(
      scale,
      Dtype::kF32,
      {(shape[0] + kBlock - 1) / kBlock, (shape[1] + kBlock - 1) / kBlock});
  return {{weight.spec.name, to, shape},
          [weight, scale, to](const ByteSink& sink) {
            stream_f8(weight, scale, to, sink);
          }};
}

// One expert: rows of groups in, the transpose of the numbers out.
void decode_expert(std::span<const std::byte> blocks,
                   std::span<const std::byte> scales,
                   std::size_t num_rows,
                   std::vector<float>& values) {
  const std::size_t num_groups = scales.size() / num_rows;
  values.resize(blocks.size() * 2);
  for (std::size_t group = 0; group < scales.size(); ++group) {
    const std::size_t row = group / num_groups;
    const std::size_t first = group % num_groups * kGroupBytes * 2;
    const int exponent = std::to_integer<int>(scales[group]) - 127;
    for (std::size_t i = 0; i < kGroupBytes; ++i) {
      const auto pair =
          std::to_integer<std::size_t>(blocks[group * kGroupBytes + i]);
      values[(first + 2 * i) * num_rows + row] =
          std::ldexp(kE2M1[pair & 15], exponent);
      values[(first + 2 * i + 1) * num_rows + row] =
          std::ldexp(kE2M1[pair >> 4], exponent);
    }
  }
}

void stream_mxfp4(const TensorSource& blocks,
                  const TensorSource& scale,
                  Dtype to,
                  const ByteSink& sink) {
  const Shape& shape = blocks.spec.shape;
  const auto num_rows = static_cast<std::size_t>(shape[1]);
  const auto num_groups = num_rows * static_cast<std::size_t>(shape[2]);
  const std::vector<std::byte> scales = collect_bytes(scale);
  std::vector<std::byte> expert;
  std::vector<float> values;
  std::vector<std::byte> out;
  std::size_t done = 0;
  blocks.bytes([&](std::span<const std::byte> piece) {
    while (!piece.empty()) {
      const std::size_t taken =
          std::min(piece.size(), num_groups * kGroupBytes - expert.size());
      expert.insert(expert.end(), piece.begin(), piece.begin() + taken);
      piece = piece.subspan(taken);
      if (expert.size() < num_groups * kGroupBytes) continue;
      decode_expert(expert,
                    std::span(scales).subspan(done * num_groups, num_groups),
                    num_rows,
                    values);
      out.clear();
      encode_floats(to, values, out);
      sink(out);
      expert.clear();
      ++done;
    }
  });
}

TensorSource decode_mxfp4(const TensorSource& blocks,
                          const TensorSource& scales,
                          Dtype to) {
  const Shape& shape = blocks.spec.shape;
  TITAN_USER_CHECK(shape.size() == 4 && shape[3] == kGroupBytes &&
                       spec_size_bytes(blocks.spec) > 0,
                   "[checkpoint] \"",
                   blocks.spec.name,
                   "\": expected shape [experts, rows, groups, 16], got ",
                   shape);
  require_form(blocks, Dtype::kU8, shape);
  require_form(scales, Dtype::kU8, {shape[0], shape[1], shape[2]});
  return {{without(blocks.spec.name, kBlocks),
           to,
           {shape[0], shape[2] * kGroupBytes * 2, shape[1]}},
          [blocks, scales, to](const ByteSink& sink) {
            stream_mxfp4(blocks, scales, to, sink);
          }};
}

}  // namespace

std::vector<TensorSource> decode_block_scaled(std::vector<TensorSource> tensors,
                                              Dtype to) {
  ByName by_name;
  for (const TensorSource& tensor : tensors)
    by_name[tensor.spec.name] = &tensor;
  std::vector<TensorSource> decoded;
  for (const TensorSource& tensor : tensors) {
    const std::string& name = tensor.spec.name;
    const auto scale = by_name.find(text(name, kScaleInverse));
    if (scale != by_name.end())
      decoded.push_back(decode_f8(tensor, *scale->second, to));
    else if (name.ends_with(kBlocks))
      decoded.push_back(decode_mxfp4(
          tensor,
          find_partner(by_name, text(without(name, kBlocks), kScales), name),
          to));
    else if (name.ends_with(kScaleInverse))
      find_partner(by_name, without(name, kScaleInverse), name);
    else if (name.ends_with(kScales))
      find_partner(by_name, text(without(name, kScales), kBlocks), name);
    else
      decoded.push_back(tensor);
  }
  return decoded;
}

}  // namespace titan::checkpoint
