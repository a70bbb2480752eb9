// SPDX-License-Identifier: BSD-3-Clause
// Element types of stored tensors, with the names that the safetensors format
// gives them. Its sub-byte types (F4, F6_*) are left out: packed weights are
// stored as U8 by every model that we read.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace titan::checkpoint {

enum class Dtype : std::uint8_t {
  kF64,
  kF32,
  kF16,
  kBf16,
  kF8E4M3,
  kF8E5M2,
  kF8E8M0,
  kC64,
  kI64,
  kI32,
  kI16,
  kI8,
  kU64,
  kU32,
  kU16,
  kU8,
  kBool,
};

struct DtypeRow {
  Dtype dtype;
  std::string_view name;
  std::int64_t size_bytes;
};

/// Every type, at the index of its enumerator.
inline constexpr std::array<DtypeRow, 17> kDtypes = {{
    {Dtype::kF64, "F64", 8},
    {Dtype::kF32, "F32", 4},
    {Dtype::kF16, "F16", 2},
    {Dtype::kBf16, "BF16", 2},
    {Dtype::kF8E4M3, "F8_E4M3", 1},
    {Dtype::kF8E5M2, "F8_E5M2", 1},
    {Dtype::kF8E8M0, "F8_E8M0", 1},
    {Dtype::kC64, "C64", 8},
    {Dtype::kI64, "I64", 8},
    {Dtype::kI32, "I32", 4},
    {Dtype::kI16, "I16", 2},
    {Dtype::kI8, "I8", 1},
    {Dtype::kU64, "U64", 8},
    {Dtype::kU32, "U32", 4},
    {Dtype::kU16, "U16", 2},
    {Dtype::kU8, "U8", 1},
    {Dtype::kBool, "BOOL", 1},
}};

constexpr std::int64_t dtype_size_bytes(Dtype dtype) {
  return kDtypes[static_cast<std::size_t>(dtype)].size_bytes;
}

/// The safetensors name, e.g. "BF16".
constexpr std::string_view dtype_name(Dtype dtype) {
  return kDtypes[static_cast<std::size_t>(dtype)].name;
}

constexpr std::optional<Dtype> dtype_from_name(std::string_view name) {
  for (const DtypeRow& row : kDtypes)
    if (row.name == name) return row.dtype;
  return std::nullopt;
}

/// Bytes of a dense tensor, or nothing when a dimension is negative or the
/// product passes 2^63 - 1.
constexpr std::optional<std::int64_t> tensor_size_bytes(
    Dtype dtype,
    std::span<const std::int64_t> shape) {
  std::int64_t size_bytes = dtype_size_bytes(dtype);
  for (const std::int64_t dim : shape) {
    if (dim < 0 || __builtin_mul_overflow(size_bytes, dim, &size_bytes))
      return std::nullopt;
  }
  return size_bytes;
}

}  // namespace titan::checkpoint
