// SPDX-License-Identifier: BSD-3-Clause
#include "core/checkpoint/cast.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <set>
#include <utility>

#include <titan/error.h>

#include "core/checkpoint/checkpoint_reader.h"
#include "core/checkpoint/decode.h"
#include "core/checkpoint/mapped_file.h"
#include "core/checkpoint/safetensors_folder.h"
#include "core/checkpoint/torch_file.h"

namespace titan::checkpoint {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{4} << 20;

// What each of the 2^n bit patterns means, made by the plain decoder.
template <typename Stored>
std::vector<float> make_table(Dtype dtype) {
  std::vector<Stored> patterns(std::size_t{1} << (8 * sizeof(Stored)));
  for (std::size_t i = 0; i < patterns.size(); ++i)
    patterns[i] = static_cast<Stored>(i);
  const std::vector<double> values =
      decode(dtype, std::as_bytes(std::span(patterns)));
  std::vector<float> table(values.size());
  for (std::size_t i = 0; i < table.size(); ++i)
    table[i] = static_cast<float>(values[i]);
  return table;
}

template <typename Stored>
void look_up(const std::vector<float>& table,
             std::span<const std::byte> bytes,
             std::vector<float>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, bytes.data() + i * sizeof(Stored), sizeof(Stored));
    values[i] = table[stored];
  }
}

const std::vector<float>& table_of(Dtype dtype) {
  static const auto kHalf = make_table<std::uint16_t>(Dtype::kF16);
  static const auto kBrain = make_table<std::uint16_t>(Dtype::kBf16);
  static const auto kE4M3 = make_table<std::uint8_t>(Dtype::kF8E4M3);
  static const auto kE5M2 = make_table<std::uint8_t>(Dtype::kF8E5M2);
  static const auto kE8M0 = make_table<std::uint8_t>(Dtype::kF8E8M0);
  switch (dtype) {
    case Dtype::kF16:
      return kHalf;
    case Dtype::kBf16:
      return kBrain;
    case Dtype::kF8E4M3:
      return kE4M3;
    case Dtype::kF8E5M2:
      return kE5M2;
    default:
      return kE8M0;
  }
}

std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fc0;  // as PyTorch has NaN
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// Adding a float whose last bit is half's smallest step rounds subnormals.
std::uint16_t to_f16(float value) {
  constexpr std::uint32_t kInfinity = 255u << 23;
  constexpr std::uint32_t kTooLarge = (127u + 16) << 23;
  constexpr std::uint32_t kSmallestNormal = (127u - 14) << 23;
  constexpr std::uint32_t kShift = ((127u - 15) + (23 - 10) + 1) << 23;
  std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits & 0x80000000;
  bits ^= sign;
  std::uint32_t half = 0;
  if (bits >= kTooLarge) {
    half = bits > kInfinity ? 0x7e00 : 0x7c00;
  } else if (bits < kSmallestNormal) {
    const float shifted =
        std::bit_cast<float>(bits) + std::bit_cast<float>(kShift);
    half = std::bit_cast<std::uint32_t>(shifted) - kShift;
  } else {
    const std::uint32_t odd = bits >> 13 & 1;
    half = (bits - ((127u - 15) << 23) + 0xfff + odd) >> 13;
  }
  return static_cast<std::uint16_t>(half | sign >> 16);
}

template <typename Convert>
void append_converted(std::span<const float> values,
                      std::vector<std::byte>& out,
                      const Convert& convert) {
  using Stored = decltype(convert(0.0f));
  const std::size_t begin = out.size();
  out.resize(begin + values.size() * sizeof(Stored));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Stored stored = convert(values[i]);
    std::memcpy(
        out.data() + begin + i * sizeof(Stored), &stored, sizeof(Stored));
  }
}

void cast_stream(Dtype from,
                 Dtype to,
                 const ByteSource& bytes,
                 const ByteSink& sink) {
  std::vector<float> values;
  std::vector<std::byte> out;
  const auto item = static_cast<std::size_t>(dtype_size_bytes(from));
  bytes([&](std::span<const std::byte> piece) {
    TITAN_CHECK(piece.size() % item == 0,
                "[checkpoint] piece of a tensor: expected whole elements, got ",
                piece.size(),
                " bytes");
    for (std::size_t at = 0; at < piece.size(); at += kPieceBytes) {
      out.clear();
      decode_floats(from,
                    piece.subspan(at, std::min(kPieceBytes, piece.size() - at)),
                    values);
      encode_floats(to, values, out);
      sink(out);
    }
  });
}

// Rows of the first dimension that fit into a piece, at least one.
void read_by_rows(const CheckpointReader& reader,
                  const TensorRecord& record,
                  const ByteSink& sink) {
  Region region = whole_region(record.shape);
  if (record.shape.empty() ||
      spec_size_bytes({"", record.dtype, record.shape}) <=
          static_cast<std::int64_t>(kPieceBytes)) {
    std::vector<std::byte> all(static_cast<std::size_t>(
        spec_size_bytes({"", record.dtype, record.shape})));
    reader.read(record.role, record.name, region, all);
    return sink(all);
  }
  region.extent[0] = 1;
  const std::int64_t row_bytes =
      num_elements(region) * dtype_size_bytes(record.dtype);
  const std::int64_t num_rows = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(kPieceBytes) / row_bytes);
  std::vector<std::byte> rows;
  for (std::int64_t row = 0; row < record.shape[0]; row += num_rows) {
    region.offset[0] = row;
    region.extent[0] = std::min(num_rows, record.shape[0] - row);
    rows.resize(static_cast<std::size_t>(region.extent[0] * row_bytes));
    reader.read(record.role, record.name, region, rows);
    sink(rows);
  }
}

}  // namespace

bool is_float(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF64:
    case Dtype::kF32:
    case Dtype::kF16:
    case Dtype::kBf16:
    case Dtype::kF8E4M3:
    case Dtype::kF8E5M2:
    case Dtype::kF8E8M0:
      return true;
    default:
      return false;
  }
}

void decode_floats(Dtype dtype,
                   std::span<const std::byte> bytes,
                   std::vector<float>& values) {
  values.resize(bytes.size() /
                static_cast<std::size_t>(dtype_size_bytes(dtype)));
  if (values.empty()) return;
  if (dtype == Dtype::kF32) {
    std::memcpy(values.data(), bytes.data(), bytes.size());
  } else if (dtype == Dtype::kF64) {
    const std::vector<double> wide = decode(dtype, bytes);
    std::ranges::transform(wide, values.begin(), [](double value) {
      return static_cast<float>(value);
    });
  } else if (dtype_size_bytes(dtype) == 2) {
    look_up<std::uint16_t>(table_of(dtype), bytes, values);
  } else {
    look_up<std::uint8_t>(table_of(dtype), bytes, values);
  }
}

void encode_floats(Dtype dtype,
                   std::span<const float> values,
                   std::vector<std::byte>& out) {
  if (dtype == Dtype::kF32)
    append_converted(values, out, [](float value) { return value; });
  else if (dtype == Dtype::kBf16)
    append_converted(values, out, to_bf16);
  else if (dtype == Dtype::kF16)
    append_converted(values, out, to_f16);
  else
    TITAN_CHECK(false,
                "[checkpoint] type to write: expected F32, F16 or BF16, got ",
                dtype_name(dtype));
}

std::vector<TensorSource> cast_floats(std::vector<TensorSource> tensors,
                                      Dtype to) {
  for (TensorSource& tensor : tensors) {
    const Dtype from = tensor.spec.dtype;
    if (from == to || !is_float(from)) continue;
    tensor.spec.dtype = to;
    tensor.bytes =
        [from, to, bytes = std::move(tensor.bytes)](const ByteSink& sink) {
          cast_stream(from, to, bytes, sink);
        };
  }
  return tensors;
}

ByteSource mapped_bytes(std::span<const std::byte> bytes,
                        std::shared_ptr<const void> owner) {
  return [bytes, owner = std::move(owner)](const ByteSink& sink) {
    for (std::size_t at = 0; at < bytes.size(); at += kPieceBytes) {
      const auto piece =
          bytes.subspan(at, std::min(kPieceBytes, bytes.size() - at));
      sink(piece);
      drop_pages(piece);
    }
  };
}

std::vector<std::byte> collect_bytes(const TensorSource& tensor) {
  std::vector<std::byte> all;
  all.reserve(static_cast<std::size_t>(spec_size_bytes(tensor.spec)));
  tensor.bytes([&](std::span<const std::byte> piece) {
    all.insert(all.end(), piece.begin(), piece.end());
  });
  return all;
}

std::vector<TensorSource> safetensors_sources(
    const std::filesystem::path& path) {
  const auto folder = std::make_shared<const SafetensorsFolder>(path);
  std::vector<TensorSource> sources;
  for (const TensorView* view : folder->tensors())
    sources.push_back({{view->name, view->dtype, view->shape},
                       mapped_bytes(view->bytes, folder)});
  return sources;
}

std::vector<TensorSource> torch_sources(const std::filesystem::path& path,
                                        std::string_view key) {
  const auto file = std::make_shared<const TorchFile>(path, key);
  std::vector<TensorSource> sources;
  for (const StridedTensor& tensor : file->content().tensors)
    sources.push_back({tensor.spec,
                       tensor.is_contiguous()
                           ? mapped_bytes(tensor.bytes, file)
                           : ByteSource([&tensor, file](const ByteSink& sink) {
                               read_elements(tensor, sink);
                               drop_pages(tensor.bytes);
                             })});
  return sources;
}

std::vector<TensorSource> checkpoint_sources(const std::filesystem::path& path,
                                             std::string_view role) {
  const auto reader = std::make_shared<const CheckpointReader>(path);
  std::vector<TensorSource> sources;
  std::set<std::string_view> names;
  for (const TensorRecord& record : reader->manifest().tensors) {
    if (record.role != role || !names.insert(record.name).second) continue;
    sources.push_back({{record.name, record.dtype, record.shape},
                       [&record, reader](const ByteSink& sink) {
                         read_by_rows(*reader, record, sink);
                       }});
  }
  return sources;
}

}  // namespace titan::checkpoint
