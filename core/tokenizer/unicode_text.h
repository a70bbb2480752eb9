// SPDX-License-Identifier: BSD-3-Clause
// Unicode facts and normal forms: the one home of utf8proc (Unicode 15).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace titan {

enum class NormalForm { kNfc, kNfd, kNfkc, kNfkd };

/// Returns `text` (well-formed UTF-8) in a normal form.
std::string to_normal_form(std::string_view text, NormalForm form);

/// Whether `text` surely is in NFC already: no character from U+0300 on. Most
/// text passes, and the pass is far cheaper than normalising.
bool is_surely_nfc(std::string_view text);

/// Appends the lower case of one character, without context (a final sigma is
/// not special), as Rust's char::to_lowercase.
void append_lower_case(std::string& out, uint32_t code_point);

/// General categories: P*, N*, Mn, M*, C* without Cn.
bool is_punctuation(uint32_t code_point);
bool is_numeric(uint32_t code_point);
bool is_nonspacing_mark(uint32_t code_point);
bool is_mark(uint32_t code_point);
bool is_control_or_format(uint32_t code_point);

/// Length in bytes of the extended grapheme cluster at the start of `text`
/// (well-formed, not empty).
size_t grapheme_length(std::string_view text);

}  // namespace titan
