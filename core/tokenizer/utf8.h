// SPDX-License-Identifier: BSD-3-Clause
// UTF-8 facts that tokenizers and data sources share. Well-formed means the
// Unicode standard's table 3-7: no surrogates, no overlong forms, <= U+10FFFF.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace titan {

/// Returns the byte offset of the first ill-formed sequence, or nothing.
std::optional<size_t> find_invalid_utf8(std::string_view text);

/// Replaces each maximal ill-formed part by U+FFFD: what Rust's
/// String::from_utf8_lossy, hence `tokenizers`, does.
std::string to_valid_utf8(std::string_view bytes);

/// Appends the encoding of `code_point` (a valid scalar value).
void append_utf8(std::string& out, uint32_t code_point);

/// Reads the code point at `position` of well-formed `text` and advances.
uint32_t next_code_point(std::string_view text, size_t& position);

/// Whether `byte` continues a character: a cut before it would split one.
inline bool is_utf8_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

}  // namespace titan
