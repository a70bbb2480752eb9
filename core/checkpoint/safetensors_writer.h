// SPDX-License-Identifier: BSD-3-Clause
// Writer of the safetensors format. The header comes first in the file, so
// names, types and shapes are given before any byte; the bytes then stream
// through, and no whole tensor need ever be in host memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/checkpoint/checksum.h"
#include "core/checkpoint/dtype.h"
#include "core/checkpoint/storage.h"

namespace titan::checkpoint {

struct TensorSpec {
  std::string name;
  Dtype dtype = Dtype::kF32;
  std::vector<std::int64_t> shape;
};

/// Bytes of the tensor; BugError when its shape is none.
std::int64_t spec_size_bytes(const TensorSpec& spec);

/// Hands a tensor's bytes, row-major and little-endian, to the sink in any
/// number of pieces.
using ByteSink = std::function<void(std::span<const std::byte>)>;
using ByteSource = std::function<void(const ByteSink&)>;

struct TensorSource {
  TensorSpec spec;
  ByteSource bytes;
};

/// A source of bytes that the caller keeps alive until the write is over.
ByteSource borrow_bytes(std::span<const std::byte> bytes);

/// Size and checksum of a file that was written.
struct WrittenFile {
  std::uint64_t size_bytes = 0;
  std::uint64_t checksum = 0;
};

using Metadata = std::map<std::string, std::string>;

/// Streams one file. Wrong counts of bytes are our bugs (BugError).
class SafetensorsWriter {
 public:
  /// Writes the header. Tensors are laid out by falling item size, otherwise
  /// as given, so that each is aligned for its type. Throws UserError for a
  /// name that is given twice or reserved.
  SafetensorsWriter(FileSystem& files,
                    const std::filesystem::path& path,
                    std::vector<TensorSpec> specs,
                    const Metadata& metadata = {});

  /// The order in which bytes must come.
  const std::vector<TensorSpec>& order() const { return specs_; }

  /// Appends bytes of the current tensor, which ends when it is full.
  void append(std::span<const std::byte> bytes);

  /// Syncs and closes; every tensor must be full.
  WrittenFile finish();

 private:
  void put(std::span<const std::byte> bytes);
  void skip_full_tensors();
  std::int64_t needed_bytes() const;

  std::string where_;
  std::vector<TensorSpec> specs_;
  std::unique_ptr<WritableFile> file_;
  Checksum checksum_;
  std::uint64_t size_bytes_ = 0;
  std::size_t current_ = 0;
  std::int64_t current_bytes_ = 0;
};

/// Writes and syncs a whole file, which appears at `path` at once: for an
/// atomic write, `path` lies in a folder that is renamed afterwards.
WrittenFile write_safetensors(FileSystem& files,
                              const std::filesystem::path& path,
                              const std::vector<TensorSource>& tensors,
                              const Metadata& metadata = {});

}  // namespace titan::checkpoint
