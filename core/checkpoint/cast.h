// SPDX-License-Identifier: BSD-3-Clause
// Floating-point tensors in another type while their bytes stream by, and the
// way from files to such streams. No whole tensor is ever in memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/checkpoint/dtype.h"
#include "core/checkpoint/safetensors_writer.h"

namespace titan::checkpoint {

/// F64, F32, F16, BF16 and the 8-bit floats.
bool is_float(Dtype dtype);

/// The elements as floats; of the types for which is_float() holds.
void decode_floats(Dtype dtype,
                   std::span<const std::byte> bytes,
                   std::vector<float>& values);

/// Appends values as F32, F16 or BF16, rounded to nearest, ties to even.
void encode_floats(Dtype dtype,
                   std::span<const float> values,
                   std::vector<std::byte>& out);

/// The floating-point ones in `to` (F32, F16 or BF16), others as they are.
std::vector<TensorSource> cast_floats(std::vector<TensorSource> tensors,
                                      Dtype to);

/// Bytes of a mapped file in pieces of a few MB, whose memory is given back
/// behind them. `owner` keeps the mapping.
ByteSource mapped_bytes(std::span<const std::byte> bytes,
                        std::shared_ptr<const void> owner);

/// All bytes of a tensor in memory.
std::vector<std::byte> collect_bytes(const TensorSource& tensor);

/// What files hold, as sources that keep them open. Each throws what its
/// reader throws: SafetensorsFolder, TorchFile, CheckpointReader (its model).
std::vector<TensorSource> safetensors_sources(
    const std::filesystem::path& path);
std::vector<TensorSource> torch_sources(const std::filesystem::path& path,
                                        std::string_view key);
std::vector<TensorSource> checkpoint_sources(const std::filesystem::path& path,
                                             std::string_view role = "model");

}  // namespace titan::checkpoint
