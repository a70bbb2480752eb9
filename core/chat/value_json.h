// SPDX-License-Identifier: BSD-3-Clause
// JSON text to the values of templates: messages, tools, documents.
#pragma once

#include <string_view>

#include "core/chat/value.h"

namespace titan::chat {

/// UserError with the tag `where`: not one JSON value, a key twice, nested
/// more than 64 deep, an integer beyond 64 bits.
Value parse_json(std::string_view where, std::string_view text);

}  // namespace titan::chat
