// SPDX-License-Identifier: BSD-3-Clause
// Writes a zip of stored entries as torch.save lays it out: each at a multiple
// of 64 bytes, sizes and checksums in data descriptors, since bytes stream
// through. Zip64 throughout, so that no size needs a case of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace titan::checkpoint {

/// Appends `num_bytes` bytes of `value`, little-endian; zeros beyond its eight.
void put_number(std::string& out, std::uint64_t value, int num_bytes);

class ZipWriter {
 public:
  using Sink = std::function<void(std::span<const std::byte>)>;

  /// `sink` gets the zip from its first byte on.
  explicit ZipWriter(Sink sink) : sink_(std::move(sink)) {}

  /// One entry: begin, any number of append, end.
  void begin(std::string name);
  void append(std::span<const std::byte> bytes);
  void end();
  void entry(const std::string& name, std::string_view content);
  /// Writes the directory; nothing may follow.
  void finish();
  /// Bytes written so far.
  std::uint64_t size() const { return offset_; }

 private:
  struct Entry {
    std::string name;
    std::uint64_t header_offset = 0;
    std::uint64_t data_offset = 0;
    std::uint64_t size = 0;
  };

  void put(std::string_view bytes);
  void add_to_directory();

  Sink sink_;
  std::uint64_t offset_ = 0;
  std::uint64_t count_ = 0;
  Entry current_;
  std::uint64_t checksum_ = 0;
  std::string directory_;
};

}  // namespace titan::checkpoint
