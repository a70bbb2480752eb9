// SPDX-License-Identifier: BSD-3-Clause
#include "core/generate/text_stream.h"

#include <algorithm>
#include <array>
#include <utility>

namespace titan::generate {
namespace {

// Length that a first byte announces; 0 for a byte that cannot be first.
size_t announced_length(unsigned char byte) {
  if (byte < 0x80) return 1;
  if (byte >= 0xC2 && byte <= 0xDF) return 2;
  if (byte >= 0xE0 && byte <= 0xEF) return 3;
  if (byte >= 0xF0 && byte <= 0xF4) return 4;
  return 0;
}

bool is_continuation(unsigned char byte) {
  return (byte & 0xC0) == 0x80;
}

}  // namespace

size_t unfinished_utf8_bytes(std::string_view text) {
  constexpr size_t kLongest = 4;
  for (size_t back = 1; back <= std::min(text.size(), kLongest); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (is_continuation(byte)) continue;
    return announced_length(byte) > back ? back : 0;
  }
  return 0;
}

std::string TextStream::push(int64_t token) {
  const std::array<int32_t, 1> ids = {static_cast<int32_t>(token)};
  waiting_ += tokenizer_.decode(ids, true);
  const size_t kept = unfinished_utf8_bytes(waiting_);
  std::string ready = waiting_.substr(0, waiting_.size() - kept);
  waiting_.erase(0, ready.size());
  return ready;
}

std::string TextStream::finish() {
  return std::exchange(waiting_, {});
}

}  // namespace titan::generate
