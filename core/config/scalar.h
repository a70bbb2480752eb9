// SPDX-License-Identifier: BSD-3-Clause
// What an unquoted YAML scalar means. The core schema of YAML 1.2, so `no`,
// `off` and `1_000` are strings, `1e-4` and `.5` are numbers, `010` is ten.
// Two tightenings: numbers that are not finite, or do not fit a double or 64
// bits, are errors instead of infinity or text.
#pragma once

#include <string_view>

#include "core/config/value.h"

namespace titan::config {

/// "0" to "9".
bool is_digit(char c);

/// Returns the typed value of plain text; UserError when it is a number that
/// cannot be held.
Value resolve_plain_scalar(std::string_view text, const Origin& origin);

}  // namespace titan::config
