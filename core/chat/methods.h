// SPDX-License-Identifier: BSD-3-Clause
// The methods of str, dict, list and tuple that templates may call. Those that
// would change a value are refused, as in jinja2's immutable sandbox.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "core/chat/object.h"
#include "core/chat/value.h"

namespace titan::chat {

struct Method {
  std::string_view name;
  Value (*body)(const Value& receiver,
                const CallArguments& arguments,
                Budget& budget);
};

std::span<const Method> string_methods();
std::span<const Method> dict_methods();
std::span<const Method> list_methods();

/// Names with leading double underscores, and methods that change a value.
bool is_unsafe_name(const Value& value, std::string_view name);

/// Returns the method of that name as a value that can be called. Problem:
/// Python has it and this engine does not.
std::optional<Value> bind_method(const Value& receiver, std::string_view name);

}  // namespace titan::chat
