// SPDX-License-Identifier: BSD-3-Clause
// The two character classes that added tokens test without a pattern.
#pragma once

#include <cstdint>

namespace titan {

/// Unicode's White_Space property (25 code points; stable since 6.3).
bool is_white_space(uint32_t code_point);

/// Rust's \w: Alphabetic, marks, decimal digits, connectors, join controls.
bool is_word_character(uint32_t code_point);

}  // namespace titan
