// SPDX-License-Identifier: BSD-3-Clause
// Text from values, for error messages: g++ 12 has no std::format and
// <sstream> costs 0.2 s per translation unit.
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

namespace titan {

// Concepts by name: clang-format 14 cannot lay out requires clauses.
template <typename T>
concept PrintedNumber = std::floating_point<T> ||
    (std::integral<T> && !std::same_as<T, bool>);

template <typename T>
concept PrintedRange =
    !std::convertible_to<T, std::string_view> && requires(const T& range) {
  range.begin();
  range.end();
};

inline void append_text(std::string& out, std::string_view value) {
  out.append(value);
}

/// A template, so that no pointer (a string literal) converts to bool here.
template <std::same_as<bool> Boolean>
void append_text(std::string& out, Boolean value) {
  out.append(value ? "true" : "false");
}

/// Shortest form that reads back to the same number.
template <PrintedNumber Number>
void append_text(std::string& out, Number value) {
  char digits[64];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value).ptr;
  out.append(digits, end);
}

inline void append_text(std::string& out, char value) {
  out.push_back(value);
}

/// A range as "(8, 2048, 4096)": the form of shapes in every message.
template <PrintedRange Range>
void append_text(std::string& out, const Range& range) {
  out.push_back('(');
  bool is_first = true;
  for (const auto& item : range) {
    if (!is_first) out.append(", ");
    is_first = false;
    append_text(out, item);
  }
  out.push_back(')');
}

/// Concatenates its arguments as text.
template <typename... Parts>
std::string text(const Parts&... parts) {
  std::string out;
  (append_text(out, parts), ...);
  return out;
}

}  // namespace titan
