// SPDX-License-Identifier: BSD-3-Clause
// Lines of a byte stream with their offsets. A last line without LF counts; a
// CR before the LF stays part of the line.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/data/byte_reader.h"

namespace titan {

/// A longer line is cut off: no document is that long, and a file of another
/// kind may have no line end at all.
inline constexpr size_t kMaxLineBytes = size_t{256} << 20;

class LineReader {
 public:
  /// `offset` is where `bytes` begins; lines that begin at or behind `limit`
  /// are left alone.
  explicit LineReader(std::unique_ptr<ByteReader> bytes,
                      int64_t offset = 0,
                      int64_t limit = std::numeric_limits<int64_t>::max());

  /// The next line, valid until the next call; false at the end. One longer
  /// than kMaxLineBytes comes with only its first bytes.
  bool next(std::string_view& line);
  /// Passes over bytes up to and with the next LF.
  void skip_rest_of_line();
  /// Where the line that next() gave begins.
  int64_t offset() const { return line_offset_; }

 private:
  bool fill();
  // Up to the LF or what is buffered, without the LF; sets `has_end`.
  std::string_view take_part(bool& has_end);

  std::unique_ptr<ByteReader> bytes_;
  std::vector<char> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  int64_t offset_;  // Of buffer_[begin_].
  int64_t limit_;
  int64_t line_offset_ = 0;
  std::string line_;  // Of a line that crosses buffers.
};

}  // namespace titan
