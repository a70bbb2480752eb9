// SPDX-License-Identifier: BSD-3-Clause
// What an ordinary JSON parser lets pass and an untrusted file must not:
// duplicate keys (the last would win silently) and deep nesting.
#pragma once

#include <string_view>

namespace titan::checkpoint {

/// Throws UserError with the tag `where` unless `text` is one JSON value
/// without duplicate keys and nested at most `max_depth` deep.
void require_strict_json(std::string_view where,
                         std::string_view text,
                         int max_depth);

}  // namespace titan::checkpoint
