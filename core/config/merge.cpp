// SPDX-License-Identifier: BSD-3-Clause
#include "core/config/merge.h"

#include <titan/error.h>

#include "core/config/path.h"

namespace titan::config {
namespace {

enum class Shape { kNull, kScalar, kList, kMap };

Shape shape_of(const Value& value) {
  if (value.is_null()) return Shape::kNull;
  if (value.is_list()) return Shape::kList;
  return value.is_map() ? Shape::kMap : Shape::kScalar;
}

bool changes_shape(const Value& base, const Value& over) {
  const Shape below = shape_of(base);
  const Shape above = shape_of(over);
  return below != Shape::kNull && above != Shape::kNull && below != above;
}

}  // namespace

void merge_into(Value& base,
                const Value& over,
                const std::string& path,
                std::vector<Problem>& problems) {
  if (changes_shape(base, over)) {
    problems.push_back({over.origin(),
                        path,
                        text("value changes its type: expected ",
                             type_name(base.type()),
                             " as in ",
                             base.origin().describe(),
                             ", got ",
                             describe_value(over)),
                        code::kType});
    return;
  }
  if (!base.is_map() || !over.is_map()) {
    base = over;
    return;
  }
  // An override adds to a map of a file, which stays the place to look at.
  if (over.origin().kind != Origin::Kind::kOverride)
    base.with_origin(over.origin());
  for (const Value::Entry& entry : over.as_map()) {
    if (Value* held = base.find(entry.key)) {
      merge_into(*held, entry.value, join_path(path, entry.key), problems);
    } else {
      base.as_map().push_back(entry);
    }
  }
}

Value expand_shorthand(const Schema& schema, const Value& value) {
  Value map = Value::empty_map();
  map.with_origin(value.origin());
  map.set(schema.shorthand, value);
  return map;
}

void expand_shorthands(const Schema& schema, Value& value) {
  if (value.is_string() && !schema.shorthand.empty()) {
    value = expand_shorthand(schema, value);
  } else if (value.is_map()) {
    for (Value::Entry& entry : value.as_map()) {
      const Schema* inner = schema.property(entry.key);
      if (inner == nullptr) inner = schema.additional.get();
      if (inner != nullptr) expand_shorthands(*inner, entry.value);
    }
  }
}

void set_at_path(Value& root,
                 const std::string& path,
                 const Value& value,
                 std::vector<Problem>& problems) {
  Value* at = &root;
  std::string so_far;
  for (const PathStep& step : parse_path(path)) {
    if (step.index >= 0) {
      const auto index = static_cast<std::size_t>(step.index);
      if (!at->is_list() || index >= at->as_list().size()) {
        problems.push_back({value.origin(),
                            path,
                            text("no such list item: expected an index into ",
                                 so_far,
                                 ", got ",
                                 step.index),
                            code::kUnknownKey});
        return;
      }
      so_far += text('[', step.index, ']');
      at = &at->as_list()[index];
      continue;
    }
    if (at->is_null()) *at = Value::empty_map().with_origin(value.origin());
    if (!at->is_map()) {
      problems.push_back({value.origin(),
                          path,
                          text("path goes through a value that is no map: ",
                               so_far,
                               " is ",
                               describe_value(*at)),
                          code::kType});
      return;
    }
    so_far = join_path(so_far, step.key);
    Value* held = at->find(step.key);
    if (held == nullptr)
      held = &at->set(step.key, Value().with_origin(value.origin()));
    at = held;
  }
  merge_into(*at, value, path, problems);
}

}  // namespace titan::config
