// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/byte_level.h"

#include <array>

#include "core/tokenizer/utf8.h"

namespace titan {
namespace {

// 188 bytes are their own character; the other 68 are U+0100 and up, in order.
constexpr size_t kAlphabetEnd = 256 + 68;

bool is_own_character(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) ||
         byte >= 0xAE;
}

std::array<int, kAlphabetEnd> make_alphabet() {
  std::array<int, kAlphabetEnd> byte_of;
  byte_of.fill(-1);
  size_t next = 256;
  for (int byte = 0; byte < 256; ++byte)
    byte_of[is_own_character(byte) ? byte : next++] = byte;
  return byte_of;
}

}  // namespace

std::optional<std::string> bytes_of_byte_level(std::string_view token) {
  static const std::array<int, kAlphabetEnd> byte_of = make_alphabet();
  std::string bytes;
  for (size_t position = 0; position < token.size();) {
    const uint32_t code_point = next_code_point(token, position);
    if (code_point >= kAlphabetEnd || byte_of[code_point] < 0)
      return std::nullopt;
    bytes.push_back(static_cast<char>(byte_of[code_point]));
  }
  return bytes;
}

std::string to_byte_level(std::string_view bytes) {
  static const std::array<int, kAlphabetEnd> byte_of = make_alphabet();
  static const auto character_of = [] {
    std::array<uint32_t, 256> characters;
    for (size_t c = 0; c < kAlphabetEnd; ++c)
      if (byte_of[c] >= 0) characters[byte_of[c]] = static_cast<uint32_t>(c);
    return characters;
  }();
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char byte : bytes)
    append_utf8(out, character_of[static_cast<unsigned char>(byte)]);
  return out;
}

}  // namespace titan
