// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/utf8.h"

#include <algorithm>
#include <cstring>

namespace titan {
namespace {

unsigned char byte_at(std::string_view text, size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
}

// Length of the longest well-formed prefix of a character at `i`, with
// `is_whole` telling whether it is a whole character. At least 1.
size_t scan_character(std::string_view text, size_t i, bool& is_whole) {
  const unsigned char lead = byte_at(text, i);
  is_whole = true;
  if (lead < 0x80) return 1;
  size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  is_whole = false;
  if (lead < 0xC2 || lead > 0xF4) return 1;
  // Table 3-7: only the second byte's range depends on the lead byte.
  unsigned char low = 0x80, high = 0xBF;
  if (lead == 0xE0) low = 0xA0;
  if (lead == 0xED) high = 0x9F;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F;
  const unsigned char second = byte_at(text, i + 1);
  if (second < low || second > high) return 1;
  for (size_t k = 2; k < length; ++k)
    if ((byte_at(text, i + k) & 0xC0) != 0x80) return k;
  is_whole = true;
  return length;
}

// Skips ASCII eight bytes at a time: most text, and the check runs on all.
size_t skip_ascii(std::string_view text, size_t i) {
  while (i + 8 <= text.size()) {
    uint64_t word;
    std::memcpy(&word, text.data() + i, 8);
    if (word & 0x8080808080808080ull) break;
    i += 8;
  }
  return i;
}

}  // namespace

std::optional<size_t> find_invalid_utf8(std::string_view text) {
  size_t i = 0;
  while ((i = skip_ascii(text, i)) < text.size()) {
    bool is_whole;
    const size_t length = scan_character(text, i, is_whole);
    if (!is_whole) return i;
    i += length;
  }
  return std::nullopt;
}

std::string to_valid_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (size_t i = 0; i < bytes.size();) {
    bool is_whole;
    const size_t length = scan_character(bytes, i, is_whole);
    out.append(is_whole ? bytes.substr(i, length)
                        : std::string_view("\xEF\xBF\xBD"));
    i += length;
  }
  return out;
}

void append_utf8(std::string& out, uint32_t code_point) {
  const auto push = [&](uint32_t byte) {
    out.push_back(static_cast<char>(byte));
  };
  if (code_point < 0x80) return push(code_point);
  if (code_point < 0x800) {
    push(0xC0 | code_point >> 6);
  } else if (code_point < 0x10000) {
    push(0xE0 | code_point >> 12);
    push(0x80 | (code_point >> 6 & 0x3F));
  } else {
    push(0xF0 | code_point >> 18);
    push(0x80 | (code_point >> 12 & 0x3F));
    push(0x80 | (code_point >> 6 & 0x3F));
  }
  push(0x80 | (code_point & 0x3F));
}

uint32_t next_code_point(std::string_view text, size_t& position) {
  const unsigned char lead = byte_at(text, position);
  const size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  uint32_t code_point = length == 1 ? lead : lead & (0xFF >> (length + 1));
  for (size_t k = 1; k < length; ++k)
    code_point = code_point << 6 | (byte_at(text, position + k) & 0x3F);
  position += length;
  return code_point;
}

}  // namespace titan
