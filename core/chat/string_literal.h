// SPDX-License-Identifier: BSD-3-Clause
// String literals of templates: Python's escapes, as jinja2 decodes them
// (codec unicode-escape).
#pragma once

#include <string>
#include <string_view>

namespace titan::chat {

/// Returns what stands between the quotes with its escapes resolved; an unknown
/// escape stays as written. Problem: an incomplete \x, \u or \U, a surrogate,
/// or \N{...}.
std::string unescape_string(std::string_view literal);

}  // namespace titan::chat
