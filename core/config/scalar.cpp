// SPDX-License-Identifier: BSD-3-Clause
// Hand-written matchers: std::regex recurses per character and would overflow
// the stack on a long scalar.
#include "core/config/scalar.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <titan/error.h>

namespace titan::config {
namespace {

std::string_view without_sign(std::string_view text) {
  return text.starts_with('+') || text.starts_with('-') ? text.substr(1) : text;
}

bool is_one_of(std::string_view text, const auto& words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

std::size_t count_digits(std::string_view text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  return static_cast<std::size_t>(end - text.begin());
}

bool is_decimal_integer(std::string_view text) {
  text = without_sign(text);
  return !text.empty() && count_digits(text) == text.size();
}

// [-+]? ( "." digits | digits [ "." digits? ] ) [ e [-+]? digits ]
bool is_float(std::string_view text) {
  text = without_sign(text);
  const std::size_t whole = count_digits(text);
  text.remove_prefix(whole);
  std::size_t fraction = 0;
  if (text.starts_with('.')) {
    fraction = count_digits(text.substr(1));
    text.remove_prefix(1 + fraction);
  }
  if (whole == 0 && fraction == 0) return false;
  if (text.starts_with('e') || text.starts_with('E'))
    return is_decimal_integer(text.substr(1));
  return text.empty();
}

int prefixed_radix(std::string_view text) {
  const auto all = [&](std::string_view allowed) {
    return text.size() > 2 &&
           text.find_first_not_of(allowed, 2) == std::string_view::npos;
  };
  if (text.starts_with("0x") && all("0123456789abcdefABCDEF")) return 16;
  if (text.starts_with("0o") && all("01234567")) return 8;
  return 0;
}

[[noreturn]] void refuse(std::string_view what,
                         std::string_view shown,
                         const Origin& origin) {
  throw UserError(text(origin.describe(),
                       ": [yaml] ",
                       what,
                       ", got ",
                       shown.substr(0, 80),
                       ". Put it in quotes if it is text."),
                  502);
}

Value parse_integer(std::string_view text, int radix, const Origin& origin) {
  std::string_view digits = radix == 10 ? text : text.substr(2);
  if (digits.starts_with('+')) digits.remove_prefix(1);
  std::int64_t value = 0;
  const auto result = std::from_chars(
      digits.data(), digits.data() + digits.size(), value, radix);
  if (result.ec != std::errc())
    refuse("integer is too large: expected 64 bits signed", text, origin);
  return Value(value);
}

Value parse_float(std::string_view text, const Origin& origin) {
  std::string_view digits = text;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  double value = 0;
  const auto result =
      std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (result.ec != std::errc())
    refuse("number is out of range: expected a double", text, origin);
  return Value(value);
}

}  // namespace

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

Value resolve_plain_scalar(std::string_view text, const Origin& origin) {
  using namespace std::literals;
  constexpr std::array kNull = {""sv, "~"sv, "null"sv, "Null"sv, "NULL"sv};
  constexpr std::array kTrue = {"true"sv, "True"sv, "TRUE"sv};
  constexpr std::array kFalse = {"false"sv, "False"sv, "FALSE"sv};
  constexpr std::array kInfinity = {".inf"sv, ".Inf"sv, ".INF"sv};
  constexpr std::array kNan = {".nan"sv, ".NaN"sv, ".NAN"sv};

  Value value;
  if (is_one_of(text, kNull)) {
    value = Value();
  } else if (is_one_of(text, kTrue)) {
    value = Value(true);
  } else if (is_one_of(text, kFalse)) {
    value = Value(false);
  } else if (is_decimal_integer(text)) {
    value = parse_integer(text, 10, origin);
  } else if (const int radix = prefixed_radix(text)) {
    value = parse_integer(text, radix, origin);
  } else if (is_float(text)) {
    value = parse_float(text, origin);
  } else if (is_one_of(without_sign(text), kInfinity) ||
             is_one_of(text, kNan)) {
    refuse("number is not finite: expected a finite number", text, origin);
  } else {
    value = Value(std::string(text));
  }
  return std::move(value.with_origin(origin));
}

}  // namespace titan::config
