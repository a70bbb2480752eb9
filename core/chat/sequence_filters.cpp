// SPDX-License-Identifier: BSD-3-Clause
// Filters that take, choose, change and join items. Those that jinja2 makes
// generators give generators: true even when empty, and read once.
#include <algorithm>

#include "core/chat/access.h"
#include "core/chat/filters.h"
#include "core/chat/operators.h"
#include "core/chat/problem.h"
#include "core/chat/value_tests.h"

namespace titan::chat {
namespace {

using Arguments = const CallArguments&;

Value otherwise(const Value& input, Arguments arguments, Budget&) {
  const Parameters given("default", arguments, {"default_value", "boolean"});
  const bool is_missing =
      input.is_undefined() || (given.boolean(1, false) && !input.is_true());
  if (!is_missing) return input;
  return given.find(0) ? given.value(0) : Value("");
}

Value attribute(const Value& input, Arguments arguments, Budget&) {
  const Parameters given("attr", arguments, {"name"}, 1);
  const std::string name = given.string(0, "");
  // Only members, never keys.
  if (input.is_mapping() && input.dict().find_name(name)) {
    const Value member = get_attribute(input, name);
    if (!member.is_object())
      return Value::undefined(text("a dict has no attribute '", name, "'"));
  }
  return get_attribute(input, name);
}

Value first(const Value& input, Arguments arguments, Budget& budget) {
  const Parameters given("first", arguments, {});
  const Items items = iterate(input, budget);
  if (items.empty()) return Value::undefined("the first of nothing");
  return items[0];
}

Value last(const Value& input, Arguments arguments, Budget& budget) {
  const Parameters given("last", arguments, {});
  if (input.is_kind(SequenceKind::kGenerator))
    fail("last: a generator is read from its start only. Use `list` before");
  const Items items = iterate(input, budget);
  if (items.empty()) return Value::undefined("the last of nothing");
  return items[items.size() - 1];
}

Value join(const Value& input, Arguments arguments, Budget& budget) {
  const Parameters given("join", arguments, {"d", "attribute"});
  const std::string separator =
      given.find(0) ? text_of(given.value(0), budget) : "";
  std::string out;
  bool is_first = true;
  for (const Value& item : iterate(input, budget)) {
    if (!is_first) out += separator;
    is_first = false;
    budget.charge_bytes(separator.size());
    out +=
        text_of(given.has(1) ? get_path(item, given.value(1)) : item, budget);
  }
  return out;
}

Value list(const Value& input, Arguments arguments, Budget& budget) {
  const Parameters given("list", arguments, {});
  List items = *iterate(input, budget).list();
  budget.charge_items(items.size());
  return Value::list(std::move(items));
}

Value items(const Value& input, Arguments arguments, Budget& budget) {
  const Parameters given("items", arguments, {});
  List pairs;
  if (!input.is_undefined() && !input.is_mapping())
    fail("items: expected a dict, got a ", input.type_name());
  if (input.is_mapping())
    for (const auto& [key, value] : input.dict().entries())
      pairs.push_back(Value::tuple({key, value}));
  budget.charge_items(pairs.size());
  return Value::generator(std::move(pairs));
}

CallArguments rest_of(Arguments arguments, size_t num_taken) {
  CallArguments rest = arguments;
  rest.positional.erase(rest.positional.begin(),
                        rest.positional.begin() + num_taken);
  return rest;
}

Value map_attribute(const Items& items, Arguments arguments) {
  const Parameters given("map", arguments, {"attribute", "default"});
  List out;
  for (const Value& item : items) {
    Value value = get_path(item, given.value(0));
    if (value.is_undefined() && given.has(1)) value = given.value(1);
    out.push_back(std::move(value));
  }
  return Value::generator(std::move(out));
}

Value map(const Value& input, Arguments arguments, Budget& budget) {
  const Items items = iterate(input, budget);
  budget.charge_items(items.size());
  if (arguments.positional.empty()) {
    if (arguments.named.empty() || arguments.named[0].first != "attribute")
      fail("map: expected the name of a filter, or attribute=");
    return map_attribute(items, arguments);
  }
  const Value& name = arguments.positional[0];
  const Filter* filter =
      name.is_string() ? find_filter(name.string()) : nullptr;
  if (!filter) fail("map: expected the name of a filter");
  const CallArguments rest = rest_of(arguments, 1);
  const Budget::Level level(budget);
  List out;
  for (const Value& item : items)
    out.push_back(filter->body(item, rest, budget));
  return Value::generator(std::move(out));
}

// select, reject, selectattr and rejectattr.
template <bool kExpected, bool kHasPath>
Value select(const Value& input, Arguments arguments, Budget& budget) {
  const Items items = iterate(input, budget);
  budget.charge_items(items.size());
  const size_t num_before = kHasPath ? 1 : 0;
  if (arguments.positional.size() < num_before)
    fail("selectattr: expected the name of an attribute");
  const ValueTest* test = nullptr;
  CallArguments rest;
  if (arguments.positional.size() > num_before) {
    const Value& name = arguments.positional[num_before];
    if (name.is_string()) test = find_test(name.string());
    if (!test) fail("select: expected the name of a test");
    rest = rest_of(arguments, num_before + 1);
  }
  List out;
  for (const Value& item : items) {
    const Value value =
        kHasPath ? get_path(item, arguments.positional[0]) : item;
    const bool is_chosen =
        test ? test->body(value, rest, budget) : value.is_true();
    if (is_chosen == kExpected) out.push_back(item);
  }
  return Value::generator(std::move(out));
}

Value reverse(const Value& input, Arguments arguments, Budget& budget) {
  const Parameters given("reverse", arguments, {});
  if (input.is_string()) return get_slice(input, {{}, {}, -1}, budget);
  List out = *iterate(input, budget).list();
  budget.charge_items(out.size());
  std::reverse(out.begin(), out.end());
  return Value::generator(std::move(out));
}

Value batch(const Value& input, Arguments arguments, Budget& budget) {
  const Parameters given("batch", arguments, {"linecount", "fill_with"}, 1);
  const int64_t size = given.integer(0, 0);
  if (size <= 0) fail("batch: expected a positive number, got ", size);
  List rows;
  List row;
  for (const Value& item : iterate(input, budget)) {
    if (static_cast<int64_t>(row.size()) == size)
      rows.push_back(Value::list(std::exchange(row, {})));
    row.push_back(item);
  }
  if (!row.empty()) {
    if (given.has(1)) {
      budget.charge_items(size - row.size());
      row.resize(size, given.value(1));
    }
    rows.push_back(Value::list(std::move(row)));
  }
  budget.charge_items(rows.size());
  return Value::generator(std::move(rows));
}

Value slice(const Value& input, Arguments arguments, Budget& budget) {
  const Parameters given("slice", arguments, {"slices", "fill_with"}, 1);
  const int64_t count = given.integer(0, 0);
  if (count <= 0) fail("slice: expected a positive number, got ", count);
  budget.charge_items(count);
  const Items items = iterate(input, budget);
  const auto size = static_cast<int64_t>(items.size());
  List rows;
  int64_t begin = 0;
  for (int64_t i = 0; i < count; ++i) {
    const bool has_extra = i < size % count;
    const int64_t end = begin + size / count + has_extra;
    List row(items.begin() + begin, items.begin() + end);
    if (given.has(1) && !has_extra) row.push_back(given.value(1));
    rows.push_back(Value::list(std::move(row)));
    begin = end;
  }
  return Value::generator(std::move(rows));
}

Value sum(const Value& input, Arguments arguments, Budget& budget) {
  const Parameters given("sum", arguments, {"attribute", "start"});
  Value total = given.find(1) ? given.value(1) : Value(0);
  for (const Value& item : iterate(input, budget))
    total = apply_binary(BinaryOperator::kAdd,
                         total,
                         given.has(0) ? get_path(item, given.value(0)) : item,
                         budget);
  return total;
}

constexpr Filter kSequenceFilters[] = {
    {"attr", attribute},
    {"batch", batch},
    {"d", otherwise},
    {"default", otherwise},
    {"first", first},
    {"items", items},
    {"join", join},
    {"last", last},
    {"list", list},
    {"map", map},
    {"reject", select<false, false>},
    {"rejectattr", select<false, true>},
    {"reverse", reverse},
    {"select", select<true, false>},
    {"selectattr", select<true, true>},
    {"slice", slice},
    {"sum", sum},
};

}  // namespace

std::span<const Filter> sequence_filters() {
  return kSequenceFilters;
}

}  // namespace titan::chat
