// SPDX-License-Identifier: BSD-3-Clause
// The two character classes that added tokens test without a pattern, and
// white space at the ends of a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace titan {

/// Unicode's White_Space property (25 code points; stable since 6.3).
bool is_white_space(uint32_t code_point);

/// Rust's \w: Alphabetic, marks, decimal digits, connectors, join controls.
bool is_word_character(uint32_t code_point);

/// Where the white space at the end of `text` (well-formed UTF-8) begins.
size_t start_of_trailing_space(std::string_view text);
/// Bytes of white space at the start of `text`.
size_t length_of_leading_space(std::string_view text);
/// Where the character that ends before `end` (> 0) begins.
size_t previous_character(std::string_view text, size_t end);

}  // namespace titan
