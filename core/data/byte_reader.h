// SPDX-License-Identifier: BSD-3-Clause
// The bytes of a file from front to back: plain (from any offset), gzip or
// Zstandard, told apart by their first bytes. Damaged and cut-off files are a
// UserError that names the file; memory does not grow with the file.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace titan {

enum class Compression { kNone, kGzip, kZstd };

/// Reads the first bytes of `path`; UserError where it cannot be read.
Compression detect_compression(const std::string& path);

class ByteReader {
 public:
  virtual ~ByteReader() = default;
  /// Fills the front of `out`, returns how much; 0 only at the end.
  virtual size_t read(std::span<char> out) = 0;
};

/// A plain file from byte `offset` on.
std::unique_ptr<ByteReader> open_plain(const std::string& path, int64_t offset);
/// What `path` holds after decompression, from its start. Several gzip members
/// or Zstandard frames in a row are one text.
std::unique_ptr<ByteReader> open_compressed(const std::string& path,
                                            Compression compression);

}  // namespace titan
