// SPDX-License-Identifier: BSD-3-Clause
// What may stand behind `is`: jinja2's built-in tests.
#pragma once

#include <string_view>

#include "core/chat/object.h"
#include "core/chat/value.h"

namespace titan::chat {

struct ValueTest {
  std::string_view name;
  bool (*body)(const Value& input,
               const CallArguments& arguments,
               Budget& budget);
};

/// Null where there is none of that name.
const ValueTest* find_test(std::string_view name);

}  // namespace titan::chat
