// SPDX-License-Identifier: BSD-3-Clause
#include "core/config/scalar_rules.h"

#include <algorithm>
#include <cmath>

#include <titan/error.h>

#include "core/config/scalar.h"
#include "core/config/suggest.h"

namespace titan::config {

using Type = Value::Type;

bool convert_number(const Schema& schema, Value& value) {
  const Origin origin = value.origin();
  if (schema.allows(value.type())) return true;
  if (value.is_integer() && schema.allows(Type::kNumber)) {
    value = Value(value.as_number());
  } else if (value.type() == Type::kNumber && schema.allows(Type::kInteger)) {
    // Above 2^53 a double is not one integer.
    constexpr double kExactLimit = 9007199254740992.0;
    const double number = value.as_number();
    if (number != std::floor(number) || std::abs(number) > kExactLimit)
      return false;
    value = Value(static_cast<std::int64_t>(number));
  } else {
    return false;
  }
  value.with_origin(origin);
  return true;
}

// At most one hint, for the mistakes that YAML invites.
std::string hint_type(const Schema& schema, const Value& value) {
  if (schema.allows(Type::kString) && !value.is_list() && !value.is_map() &&
      !value.is_null())
    return " Put it in quotes if it is text.";
  if (!value.is_string()) return "";
  const std::string& text = value.as_string();
  if (schema.allows(Type::kBoolean)) return " Write true or false.";
  std::string digits = text;
  std::erase(digits, '_');
  if (digits.empty()) return "";
  try {
    if (resolve_plain_scalar(digits, {}).is_number() &&
        (schema.allows(Type::kNumber) || schema.allows(Type::kInteger)))
      return titan::text(" Write ", digits, " without quotes and underscores.");
  } catch (const UserError&) {
    // A number that cannot be held is no better advice.
  }
  return "";
}

void check_allowed(const Schema& schema,
                   const Value& value,
                   const std::string& path,
                   std::vector<Problem>& problems) {
  const auto& allowed = schema.allowed;
  if (allowed.empty() || value.is_null() ||
      std::find(allowed.begin(), allowed.end(), value) != allowed.end())
    return;
  std::vector<std::string> options;
  for (const Value& option : allowed)
    options.push_back(option.is_string() ? option.as_string()
                                         : option.to_json());
  std::string advice;
  if (value.is_string()) {
    const std::string near = nearest(value.as_string(), options);
    if (!near.empty()) advice = text(" Did you mean ", near, '?');
    for (const auto& [refused, reason] : schema.refused) {
      if (refused == value.as_string()) advice = text(' ', reason);
    }
  }
  problems.push_back({value.origin(),
                      path,
                      text("value is not one of the choices: expected one of ",
                           options,
                           ", got ",
                           describe_value(value),
                           '.',
                           advice),
                      code::kRange});
}

void check_range(const Schema& schema,
                 const Value& value,
                 const std::string& path,
                 std::vector<Problem>& problems) {
  const double number = value.as_number();
  const auto refuse = [&](std::string_view relation, double bound) {
    problems.push_back({value.origin(),
                        path,
                        text("value is out of range: expected ",
                             relation,
                             ' ',
                             bound,
                             ", got ",
                             value.to_json()),
                        code::kRange});
  };
  if (schema.minimum && number < *schema.minimum)
    refuse("at least", *schema.minimum);
  if (schema.exclusive_minimum && number <= *schema.exclusive_minimum)
    refuse("more than", *schema.exclusive_minimum);
  if (schema.maximum && number > *schema.maximum)
    refuse("at most", *schema.maximum);
  if (schema.exclusive_maximum && number >= *schema.exclusive_maximum)
    refuse("less than", *schema.exclusive_maximum);
}

bool has_format(std::string_view format, std::string_view value) {
  const auto all_in = [&](std::string_view part, std::string_view allowed) {
    return !part.empty() && part.find_first_not_of(allowed) == part.npos;
  };
  if (format == "sha256")
    return value.size() == 64 && all_in(value, "0123456789abcdef");
  if (format != "op_id") return true;
  const auto slash = value.rfind('/');
  return slash != value.npos && slash > 0 &&
         all_in(value.substr(slash + 1), "0123456789") &&
         value.substr(0, slash).find('.') != value.npos;
}

std::string_view format_example(std::string_view format) {
  return format == "sha256" ? "64 digits of 0-9a-f"
                            : "an op id such as titan.rms_norm/1";
}

}  // namespace titan::config
