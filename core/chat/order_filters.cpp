// SPDX-License-Identifier: BSD-3-Clause
// Filters that compare items: sort, dictsort, unique, min, max. Upper and lower
// case are equal unless case_sensitive is set.
#include <algorithm>
#include <utility>

#include "core/chat/access.h"
#include "core/chat/filters.h"
#include "core/chat/problem.h"
#include "core/chat/unicode_text.h"

namespace titan::chat {
namespace {

using Arguments = const CallArguments&;

// n log n comparisons of n <= 4 million items.
constexpr int64_t kStepsPerItem = 22;

Value fold_case(const Value& value, bool is_case_sensitive) {
  if (is_case_sensitive || !value.is_string()) return value;
  return to_lower(value.string());
}

// What items are compared by; `path` may be null.
Value key_of(const Value& item, const Value* path, bool is_case_sensitive) {
  const bool has_path = path && !path->is_none();
  return fold_case(has_path ? get_path(item, *path) : item, is_case_sensitive);
}

// The same for `sort`: a list, as its path may be several with commas between
// them (and lists of undefined values compare as equal).
Value keys_of(const Value& item, const Value* path, bool is_case_sensitive) {
  if (!path || !path->is_string())
    return Value::list({key_of(item, path, is_case_sensitive)});
  List keys;
  std::string_view rest = path->string();
  while (true) {
    const size_t comma = rest.find(',');
    const Value one = rest.substr(0, comma);
    keys.push_back(key_of(item, &one, is_case_sensitive));
    if (comma == std::string_view::npos) return Value::list(std::move(keys));
    rest.remove_prefix(comma + 1);
  }
}

using Keyed = std::vector<std::pair<Value, Value>>;  // Key, item.

List sorted(Keyed keyed, bool is_reversed, Budget& budget) {
  budget.step(static_cast<int64_t>(keyed.size()) * kStepsPerItem);
  budget.charge_items(keyed.size());
  std::stable_sort(keyed.begin(), keyed.end(), [&](auto& a, auto& b) {
    return is_reversed ? is_less(b.first, a.first) : is_less(a.first, b.first);
  });
  List items;
  for (auto& [key, item] : keyed) items.push_back(std::move(item));
  return items;
}

Value sort(const Value& input, Arguments arguments, Budget& budget) {
  const Parameters given(
      "sort", arguments, {"reverse", "case_sensitive", "attribute"});
  const bool is_case_sensitive = given.boolean(1, false);
  Keyed keyed;
  for (const Value& item : iterate(input, budget))
    keyed.emplace_back(keys_of(item, given.find(2), is_case_sensitive), item);
  return Value::list(sorted(std::move(keyed), given.boolean(0, false), budget));
}

Value dictsort(const Value& input, Arguments arguments, Budget& budget) {
  const Parameters given(
      "dictsort", arguments, {"case_sensitive", "by", "reverse"});
  const std::string by = given.string(1, "key");
  if (by != "key" && by != "value")
    fail("dictsort: by: expected key or value, got ", by);
  if (!input.is_mapping())
    fail("dictsort: expected a dict, got a ", input.type_name());
  Keyed keyed;
  for (const auto& [key, value] : input.dict().entries())
    keyed.emplace_back(
        fold_case(by == "key" ? key : value, given.boolean(0, false)),
        Value::tuple({key, value}));
  return Value::list(sorted(std::move(keyed), given.boolean(2, false), budget));
}

Value unique(const Value& input, Arguments arguments, Budget& budget) {
  const Parameters given("unique", arguments, {"case_sensitive", "attribute"});
  Dict seen;
  List out;
  for (const Value& item : iterate(input, budget)) {
    const Value key = key_of(item, given.find(1), given.boolean(0, false));
    if (seen.find(key)) continue;
    seen.set(key, true);
    out.push_back(item);
  }
  budget.charge_items(out.size());
  return Value::generator(std::move(out));
}

template <bool kIsMax>
Value extreme(const Value& input, Arguments arguments, Budget& budget) {
  const Parameters given(
      "min, max", arguments, {"case_sensitive", "attribute"});
  const Items items = iterate(input, budget);
  budget.step(static_cast<int64_t>(items.size()));
  if (items.empty()) return Value::undefined("the extreme of nothing");
  const auto key = [&](const Value& item) {
    return key_of(item, given.find(1), given.boolean(0, false));
  };
  const Value* best = &items[0];
  Value best_key = key(*best);
  for (size_t i = 1; i < items.size(); ++i) {
    Value other = key(items[i]);
    if (!(kIsMax ? is_less(best_key, other) : is_less(other, best_key)))
      continue;
    best = &items[i];
    best_key = std::move(other);
  }
  return *best;
}

constexpr Filter kOrderFilters[] = {
    {"dictsort", dictsort},
    {"max", extreme<true>},
    {"min", extreme<false>},
    {"sort", sort},
    {"unique", unique},
};

}  // namespace

std::span<const Filter> order_filters() {
  return kOrderFilters;
}

}  // namespace titan::chat
