// SPDX-License-Identifier: BSD-3-Clause
#include "core/generate/text_stream.h"

#include <algorithm>
#include <span>
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

// Text of the ids behind the context, which they then become.
std::string TextStream::take_new_text() {
  const std::string known =
      tokenizer_.decode(std::span(ids_).first(num_context_ids_), true);
  std::string all = tokenizer_.decode(ids_, true);
  ids_.erase(ids_.begin(), ids_.begin() + num_context_ids_);
  num_context_ids_ = ids_.size();
  return all.size() > known.size() ? all.substr(known.size()) : std::string();
}

std::string TextStream::push(int64_t token) {
  ids_.push_back(static_cast<int32_t>(token));
  // Some decoders write U+FFFD for a character that the next token completes.
  if (tokenizer_.decode(ids_, true).ends_with("\xEF\xBF\xBD")) return {};
  waiting_ += take_new_text();
  const size_t kept = unfinished_utf8_bytes(waiting_);
  std::string ready = waiting_.substr(0, waiting_.size() - kept);
  waiting_.erase(0, ready.size());
  return ready;
}

std::string TextStream::finish() {
  waiting_ += take_new_text();
  return std::exchange(waiting_, {});
}

}  // namespace titan::generate
