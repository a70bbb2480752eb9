// SPDX-License-Identifier: BSD-3-Clause
// Filters that make or change numbers.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>

#include "core/chat/access.h"
#include "core/chat/filters.h"
#include "core/chat/operators.h"
#include "core/chat/problem.h"
#include "core/chat/unicode_text.h"

namespace titan::chat {
namespace {

using Arguments = const CallArguments&;

// What int() and float() take off: white space, a plus, underscores.
std::optional<std::string> digits_of(const std::string& text) {
  std::string digits(strip(text, {}, true, true));
  const bool has_plus = digits.starts_with('+');
  if (has_plus) digits.erase(0, 1);
  if (has_plus && digits.starts_with('-')) return std::nullopt;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (digits[i] != '_') continue;
    const auto is_digit = [&](size_t at) {
      return at < digits.size() && digits[at] >= '0' && digits[at] <= '9';
    };
    if (i == 0 || !is_digit(i - 1) || !is_digit(i + 1)) return std::nullopt;
  }
  std::erase(digits, '_');
  return digits;
}

std::optional<double> parse_float(const std::string& text) {
  std::optional<std::string> digits = digits_of(text);
  if (!digits) return std::nullopt;
  double value = 0;
  const char* end = digits->data() + digits->size();
  const auto read = std::from_chars(digits->data(), end, value);
  if (read.ptr != end || digits->empty()) return std::nullopt;
  if (digits->find('(') != std::string::npos) return std::nullopt;
  if (read.ec == std::errc::result_out_of_range)
    fail("float: the number is out of range: ", *digits);
  return read.ec == std::errc() ? std::optional(value) : std::nullopt;
}

std::optional<int64_t> parse_integer(const std::string& text, int base) {
  std::optional<std::string> digits = digits_of(text);
  if (!digits) return std::nullopt;
  int64_t value = 0;
  const char* end = digits->data() + digits->size();
  const auto read = std::from_chars(digits->data(), end, value, base);
  if (read.ptr != end || digits->empty()) return std::nullopt;
  if (read.ec == std::errc::result_out_of_range)
    fail("int: expected a number of 64 bits, got ", *digits);
  return read.ec == std::errc() ? std::optional(value) : std::nullopt;
}

Value to_integer(const Value& input, Arguments arguments, Budget&) {
  const Parameters given("int", arguments, {"default", "base"});
  Value otherwise = given.find(0) ? given.value(0) : Value(0);
  const int64_t base = given.integer(1, 10);
  if (base < 2 || base > 36) fail("int: expected a base of 2 to 36");
  if (input.is_undefined()) fail(input.undefined_text());
  if (input.is_number() && !input.is_float()) return input.integer();
  std::optional<double> number;
  if (input.is_float()) {
    number = input.number();
  } else if (input.is_string()) {
    if (const auto value =
            parse_integer(input.string(), static_cast<int>(base)))
      return *value;
    number = parse_float(input.string());
  }
  if (!number || !std::isfinite(*number)) return otherwise;
  return truncate_to_integer(*number);
}

Value to_float(const Value& input, Arguments arguments, Budget&) {
  const Parameters given("float", arguments, {"default"});
  Value otherwise = given.find(0) ? given.value(0) : Value(0.0);
  if (input.is_undefined()) fail(input.undefined_text());
  if (input.is_number()) return input.number();
  if (!input.is_string()) return otherwise;
  const std::optional<double> value = parse_float(input.string());
  return value ? Value(*value) : otherwise;
}

Value absolute(const Value& input, Arguments arguments, Budget&) {
  const Parameters given("abs", arguments, {});
  if (!input.is_number()) fail("abs: expected a number");
  if (input.is_float()) return std::abs(input.number());
  return input.integer() < 0 ? apply_sign(UnaryOperator::kMinus, input)
                             : Value(input.integer());
}

// The decimal nearest to `value`, ties to even: printf rounds the exact binary
// value, as Python's round does.
double round_decimal(double value, int precision) {
  char buffer[400];
  std::snprintf(buffer, sizeof buffer, "%.*f", precision, value);
  double rounded = 0;
  std::from_chars(
      buffer, buffer + std::char_traits<char>::length(buffer), rounded);
  return rounded;
}

Value round_number(const Value& input, Arguments arguments, Budget&) {
  const Parameters given("round", arguments, {"precision", "method"});
  const int64_t precision = given.integer(0, 0);
  const std::string method = given.string(1, "common");
  if (!input.is_number()) fail("round: expected a number");
  if (precision < 0 || precision > 15)
    fail("round: expected a precision of 0 to 15, got ", precision);
  if (method == "common") {
    if (!input.is_float()) return input.integer();
    if (!std::isfinite(input.number())) return input;
    return round_decimal(input.number(), static_cast<int>(precision));
  }
  if (method != "ceil" && method != "floor")
    fail("round: expected the method common, ceil or floor, got ", method);
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const double scaled = input.number() * scale;
  return (method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale;
}

Value length(const Value& input, Arguments arguments, Budget&) {
  const Parameters given("length", arguments, {});
  return length_of(input);
}

constexpr Filter kNumberFilters[] = {
    {"abs", absolute},
    {"count", length},
    {"float", to_float},
    {"int", to_integer},
    {"length", length},
    {"round", round_number},
};

}  // namespace

std::span<const Filter> number_filters() {
  return kNumberFilters;
}

}  // namespace titan::chat
