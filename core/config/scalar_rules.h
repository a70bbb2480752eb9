// SPDX-License-Identifier: BSD-3-Clause
// The rules of a schema about one single value: type, choices, range, form.
// The walk over maps and lists is validate.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/config/problem.h"
#include "core/config/schema.h"

namespace titan::config {

/// Brings a number to the type that the schema says; false if the value's type
/// fits none of the schema's.
bool convert_number(const Schema& schema, Value& value);

/// Returns one sentence, led by a blank, for a value of the wrong type, or "".
std::string hint_type(const Schema& schema, const Value& value);

void check_allowed(const Schema& schema,
                   const Value& value,
                   const std::string& path,
                   std::vector<Problem>& problems);

/// `value` is a number.
void check_range(const Schema& schema,
                 const Value& value,
                 const std::string& path,
                 std::vector<Problem>& problems);

/// Tells whether text has the form that `format` names; "path" and "" take all.
bool has_format(std::string_view format, std::string_view value);
std::string_view format_example(std::string_view format);

}  // namespace titan::config
