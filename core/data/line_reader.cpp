// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/line_reader.h"

#include <algorithm>
#include <cstring>

namespace titan {

LineReader::LineReader(std::unique_ptr<ByteReader> bytes,
                       int64_t offset,
                       int64_t limit)
    : bytes_(std::move(bytes)),
      buffer_(1 << 16),
      offset_(offset),
      limit_(limit) {}

bool LineReader::fill() {
  if (begin_ < end_) return true;
  begin_ = 0;
  end_ = bytes_->read(buffer_);
  return end_ > 0;
}

std::string_view LineReader::take_part(bool& has_end) {
  const char* from = buffer_.data() + begin_;
  const size_t available = end_ - begin_;
  const auto* lf = static_cast<const char*>(std::memchr(from, '\n', available));
  has_end = lf != nullptr;
  const size_t size = has_end ? static_cast<size_t>(lf - from) : available;
  const size_t used = size + (has_end ? 1 : 0);
  begin_ += used;
  offset_ += static_cast<int64_t>(used);
  return {from, size};
}

bool LineReader::next(std::string_view& line) {
  if (offset_ >= limit_ || !fill()) return false;
  line_offset_ = offset_;
  bool has_end = false;
  line = take_part(has_end);
  if (has_end) return true;
  line_.assign(line);
  while (!has_end && fill()) {
    const std::string_view part = take_part(has_end);
    line_.append(
        part.substr(0, kMaxLineBytes - std::min(line_.size(), kMaxLineBytes)));
  }
  line = line_;
  return true;
}

void LineReader::skip_rest_of_line() {
  bool has_end = false;
  // No further than the limit: what begins behind it is not ours.
  while (!has_end && offset_ < limit_ && fill()) take_part(has_end);
}

}  // namespace titan
