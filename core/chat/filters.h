// SPDX-License-Identifier: BSD-3-Clause
// What may stand behind `|`: jinja2's built-in filters that templates of chats
// use, and tojson as transformers defines it. docs/chat.md lists them.
#pragma once

#include <span>
#include <string_view>

#include "core/chat/object.h"
#include "core/chat/value.h"

namespace titan::chat {

struct Filter {
  std::string_view name;
  Value (*body)(const Value& input,
                const CallArguments& arguments,
                Budget& budget);
};

/// Null where there is none of that name.
const Filter* find_filter(std::string_view name);

/// By what they work on; find_filter looks in all of them.
std::span<const Filter> text_filters();
std::span<const Filter> number_filters();
std::span<const Filter> sequence_filters();
std::span<const Filter> order_filters();

}  // namespace titan::chat
