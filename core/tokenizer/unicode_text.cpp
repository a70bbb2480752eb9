// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/unicode_text.h"

#include <cstdlib>
#include <limits>
#include <memory>

#include <utf8proc.h>

#include <titan/error.h>

#include "core/tokenizer/utf8.h"

namespace titan {
namespace {

utf8proc_category_t category_of(uint32_t code_point) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
}

}  // namespace

std::string to_normal_form(std::string_view text, NormalForm form) {
  int options = UTF8PROC_STABLE;
  const bool is_composed =
      form == NormalForm::kNfc || form == NormalForm::kNfkc;
  options |= is_composed ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  if (form == NormalForm::kNfkc || form == NormalForm::kNfkd)
    options |= UTF8PROC_COMPAT;
  if (text.empty()) return {};
  utf8proc_uint8_t* bytes = nullptr;
  const utf8proc_ssize_t length =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()),
                   &bytes,
                   static_cast<utf8proc_option_t>(options));
  TITAN_USER_CHECK(length >= 0,
                   "[tokenizer] text cannot be normalised: ",
                   utf8proc_errmsg(length));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(
      bytes, &std::free);
  return std::string(reinterpret_cast<const char*>(bytes),
                     static_cast<size_t>(length));
}

bool is_surely_nfc(std::string_view text) {
  // U+0300 is CC 80: all that is below has a lead byte below 0xCC.
  unsigned char highest = 0;
  for (const char byte : text) {
    const auto value = static_cast<unsigned char>(byte);
    highest = value > highest ? value : highest;
  }
  return highest < 0xCC;
}

void append_lower_case(std::string& out, uint32_t code_point) {
  constexpr uint32_t kCapitalIWithDot = 0x130;  // The only one of two letters.
  if (code_point == kCapitalIWithDot) {
    out.append("i\xCC\x87");
    return;
  }
  append_utf8(out,
              static_cast<uint32_t>(
                  utf8proc_tolower(static_cast<utf8proc_int32_t>(code_point))));
}

bool is_punctuation(uint32_t code_point) {
  const utf8proc_category_t category = category_of(code_point);
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

bool is_numeric(uint32_t code_point) {
  const utf8proc_category_t category = category_of(code_point);
  return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}

bool is_nonspacing_mark(uint32_t code_point) {
  return category_of(code_point) == UTF8PROC_CATEGORY_MN;
}

bool is_mark(uint32_t code_point) {
  const utf8proc_category_t category = category_of(code_point);
  return category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
}

bool is_control_or_format(uint32_t code_point) {
  const utf8proc_category_t category = category_of(code_point);
  return category >= UTF8PROC_CATEGORY_CC && category <= UTF8PROC_CATEGORY_CO;
}

size_t grapheme_length(std::string_view text) {
  utf8proc_int32_t state = 0;
  size_t end = 0;
  auto left = static_cast<utf8proc_int32_t>(next_code_point(text, end));
  while (end < text.size()) {
    size_t after = end;
    const auto right =
        static_cast<utf8proc_int32_t>(next_code_point(text, after));
    if (utf8proc_grapheme_break_stateful(left, right, &state)) break;
    left = right;
    end = after;
  }
  return end;
}

}  // namespace titan
