// SPDX-License-Identifier: BSD-3-Clause
#include "core/chat/value_tests.h"

#include <algorithm>
#include <iterator>

#include "core/chat/access.h"
#include "core/chat/filters.h"
#include "core/chat/operators.h"
#include "core/chat/problem.h"
#include "core/chat/unicode_text.h"

namespace titan::chat {
namespace {

using Arguments = const CallArguments&;

template <bool (Value::*kIs)() const, bool kExpected = true>
bool is_of_type(const Value& value, Arguments arguments, Budget&) {
  const Parameters given("this test", arguments, {});
  return (value.*kIs)() == kExpected;
}

template <bool kExpected>
bool is_boolean(const Value& value, Arguments, Budget&) {
  return value.is_boolean() && value.boolean() == kExpected;
}

bool is_iterable(const Value& value, Arguments, Budget&) {
  return value.is_undefined() || value.is_string() || value.is_sequence() ||
         value.is_mapping();
}

// len() and [] are there; both are for undefined, too.
bool is_sequence(const Value& value, Arguments, Budget&) {
  return value.is_undefined() || value.is_string() || value.is_array() ||
         value.is_mapping();
}

bool is_callable(const Value& value, Arguments, Budget&) {
  return value.is_object() && value.object()->is_callable();
}

template <Comparison kComparison>
bool compares(const Value& value, Arguments arguments, Budget& budget) {
  const Parameters given("this test", arguments, {"other"}, 1);
  return compare(kComparison, value, given.value(0), budget);
}

// Identity: only what cannot differ otherwise is the same.
bool is_same(const Value& value, Arguments arguments, Budget&) {
  const Parameters given("sameas", arguments, {"other"}, 1);
  const Value& other = given.value(0);
  if (value.type_name() != other.type_name()) return false;
  if (value.is_sequence()) return &value.items() == &other.items();
  if (value.is_mapping()) return &value.dict() == &other.dict();
  return is_equal(value, other);
}

int64_t integer_of(const Value& value) {
  if (!value.is_integer() && !value.is_boolean())
    fail("this test: expected an integer, got a ", value.type_name());
  return value.integer();
}

template <int kRest>
bool has_rest(const Value& value, Arguments, Budget&) {
  return (integer_of(value) & 1) == kRest;
}

bool is_divisible(const Value& value, Arguments arguments, Budget& budget) {
  const Parameters given("divisibleby", arguments, {"num"}, 1);
  const Value rest = apply_binary(BinaryOperator::kModulo,
                                  Value(integer_of(value)),
                                  Value(integer_of(given.value(0))),
                                  budget);
  return rest.integer() == 0;
}

template <std::string (*kMap)(std::string_view)>
bool is_case(const Value& value, Arguments, Budget& budget) {
  const std::string all = text_of(value, budget);
  // A text without letters is of neither case.
  return all == kMap(all) && to_lower(all) != to_upper(all);
}

bool is_filter(const Value& value, Arguments, Budget&) {
  return value.is_string() && find_filter(value.string());
}

bool is_test(const Value& value, Arguments, Budget&) {
  return value.is_string() && find_test(value.string());
}

constexpr ValueTest kTests[] = {
    {"!=", compares<Comparison::kNotEqual>},
    {"<", compares<Comparison::kLess>},
    {"<=", compares<Comparison::kLessEqual>},
    {"==", compares<Comparison::kEqual>},
    {">", compares<Comparison::kGreater>},
    {">=", compares<Comparison::kGreaterEqual>},
    {"boolean", is_of_type<&Value::is_boolean>},
    {"callable", is_callable},
    {"defined", is_of_type<&Value::is_undefined, false>},
    {"divisibleby", is_divisible},
    {"eq", compares<Comparison::kEqual>},
    {"equalto", compares<Comparison::kEqual>},
    {"escaped", is_of_type<&Value::is_markup>},
    {"even", has_rest<0>},
    {"false", is_boolean<false>},
    {"filter", is_filter},
    {"float", is_of_type<&Value::is_float>},
    {"ge", compares<Comparison::kGreaterEqual>},
    {"greaterthan", compares<Comparison::kGreater>},
    {"gt", compares<Comparison::kGreater>},
    {"in", compares<Comparison::kIn>},
    {"integer", is_of_type<&Value::is_integer>},
    {"iterable", is_iterable},
    {"le", compares<Comparison::kLessEqual>},
    {"lessthan", compares<Comparison::kLess>},
    {"lower", is_case<to_lower>},
    {"lt", compares<Comparison::kLess>},
    {"mapping", is_of_type<&Value::is_mapping>},
    {"ne", compares<Comparison::kNotEqual>},
    {"none", is_of_type<&Value::is_none>},
    {"number", is_of_type<&Value::is_number>},
    {"odd", has_rest<1>},
    {"sameas", is_same},
    {"sequence", is_sequence},
    {"string", is_of_type<&Value::is_string>},
    {"test", is_test},
    {"true", is_boolean<true>},
    {"undefined", is_of_type<&Value::is_undefined>},
    {"upper", is_case<to_upper>},
};

}  // namespace

const ValueTest* find_test(std::string_view name) {
  const auto found =
      std::find_if(std::begin(kTests), std::end(kTests), [&](const auto& test) {
        return test.name == name;
      });
  return found == std::end(kTests) ? nullptr : found;
}

}  // namespace titan::chat
