// SPDX-License-Identifier: BSD-3-Clause
// Values as Python writes them: str(), repr() and json.dumps.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/chat/budget.h"
#include "core/chat/value.h"

namespace titan::chat {

/// str(value): what `{{ value }}` prints. Problem: a generator or an object.
std::string to_text(const Value& value, Budget& budget);

/// repr(float): the shortest digits that read back.
std::string float_text(double value);

struct JsonStyle {
  std::optional<std::string> indent;  ///< Of one level; absent: one line.
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool ensure_ascii = false;
  bool sort_keys = false;
};

/// json.dumps(value). Problem: not a value of JSON.
std::string to_json(const Value& value, const JsonStyle& style, Budget& budget);

}  // namespace titan::chat
