// SPDX-License-Identifier: BSD-3-Clause
// \w comes from PCRE2's tables: one match per call, which is rare (a
// single_word token next to non-ASCII text).
#define PCRE2_CODE_UNIT_WIDTH 8
#include "core/tokenizer/unicode_classes.h"

#include <string>

#include <pcre2.h>

#include <titan/error.h>

#include "core/tokenizer/utf8.h"

namespace titan {
namespace {

const pcre2_code* word_pattern() {
  static const pcre2_code* const code = [] {
    const char pattern[] =
        "[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}"
        "\\x{200C}\\x{200D}]";
    int error = 0;
    PCRE2_SIZE offset = 0;
    const pcre2_code* compiled =
        pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern),
                      sizeof(pattern) - 1,
                      PCRE2_UTF | PCRE2_UCP,
                      &error,
                      &offset,
                      nullptr);
    TITAN_CHECK(compiled, "[unicode] PCRE2 refuses \\w: error ", error);
    return compiled;
  }();
  return code;
}

}  // namespace

bool is_white_space(uint32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_word_character(uint32_t c) {
  if (c < 0x80)
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (c >= 'a' && c <= 'z');
  std::string character;
  append_utf8(character, c);
  pcre2_match_data* match = pcre2_match_data_create(1, nullptr);
  const int found = pcre2_match(word_pattern(),
                                reinterpret_cast<PCRE2_SPTR>(character.data()),
                                character.size(),
                                0,
                                PCRE2_NO_UTF_CHECK,
                                match,
                                nullptr);
  pcre2_match_data_free(match);
  return found >= 0;
}

size_t previous_character(std::string_view text, size_t end) {
  do --end;
  while (end > 0 && is_utf8_continuation(text[end]));
  return end;
}

size_t start_of_trailing_space(std::string_view text) {
  size_t begin = text.size();
  while (begin > 0) {
    const size_t start = previous_character(text, begin);
    size_t position = start;
    if (!is_white_space(next_code_point(text, position))) break;
    begin = start;
  }
  return begin;
}

size_t length_of_leading_space(std::string_view text) {
  size_t end = 0;
  while (end < text.size()) {
    size_t position = end;
    if (!is_white_space(next_code_point(text, position))) break;
    end = position;
  }
  return end;
}

}  // namespace titan
