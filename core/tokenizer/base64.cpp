// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/base64.h"

#include <array>
#include <cstdint>

#include <titan/error.h>

namespace titan {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<int16_t, 256> make_values() {
  std::array<int16_t, 256> values{};
  for (int16_t& value : values) value = -1;
  for (size_t i = 0; i < kAlphabet.size(); ++i)
    values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<int16_t>(i);
  return values;
}

}  // namespace

std::string decode_base64(std::string_view text, const std::string& where) {
  static constexpr std::array<int16_t, 256> kValues = make_values();
  for (int padding = 0; padding < 2 && text.ends_with('='); ++padding)
    text.remove_suffix(1);
  TITAN_USER_CHECK(text.size() % 4 != 1,
                   '[',
                   where,
                   "] base64: expected a length that is not 1 modulo 4, got ",
                   text.size());
  std::string out;
  out.reserve(text.size() / 4 * 3 + 2);
  uint32_t bits = 0;
  int num_bits = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const int value = kValues[static_cast<unsigned char>(text[i])];
    TITAN_USER_CHECK(
        value >= 0,
        '[',
        where,
        "] base64: expected a character of the alphabet, got byte ",
        static_cast<int>(static_cast<unsigned char>(text[i])),
        " at offset ",
        i);
    bits = bits << 6 | static_cast<uint32_t>(value);
    num_bits += 6;
    if (num_bits < 8) continue;
    num_bits -= 8;
    out.push_back(static_cast<char>(bits >> num_bits & 0xFF));
  }
  return out;
}

}  // namespace titan
