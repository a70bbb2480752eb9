// SPDX-License-Identifier: BSD-3-Clause
// Texts from patterns: `"%s" % x`, `"{}".format(x)` and padding.
#pragma once

#include <string>
#include <string_view>

#include "core/chat/object.h"
#include "core/chat/value.h"

namespace titan::chat {

/// `pattern % values`: a tuple gives several. Knows %s %r %d %i %f %x %%, with
/// flags - and 0, width and precision. Problem: anything else.
std::string format_percent(std::string_view pattern,
                           const Value& values,
                           Budget& budget);

/// str.format with {}, {0} and {name}. Problem: conversions and formats.
std::string format_braces(std::string_view pattern,
                          const CallArguments& arguments,
                          Budget& budget);

/// Adds `missing` times `fill`: '<' behind, '>' before, '^' around, '=' behind
/// a sign.
std::string pad_text(std::string_view text,
                     char align,
                     int64_t missing,
                     std::string_view fill,
                     Budget& budget);

}  // namespace titan::chat
