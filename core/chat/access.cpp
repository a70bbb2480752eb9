// SPDX-License-Identifier: BSD-3-Clause
#include "core/chat/access.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/chat/methods.h"
#include "core/chat/object.h"
#include "core/chat/problem.h"
#include "core/chat/python_text.h"

namespace titan::chat {
namespace {

Value missing(const Value& value, std::string_view name) {
  return Value::undefined(
      text("'", value.type_name(), "' has no attribute '", name, "'"));
}

// What jinja2 calls unsafe is undefined even where a key has the name.
std::optional<Value> find_member(const Value& value, std::string_view name) {
  if (value.is_object()) return value.object()->attribute(name);
  if (is_unsafe_name(value, name))
    return Value::undefined(text("access to '",
                                 name,
                                 "' of a ",
                                 value.type_name(),
                                 " is not allowed in templates"));
  return bind_method(value, name);
}

std::optional<Value> find_indexed(const Value& value, const Value& key) {
  if (value.is_mapping()) {
    const Value* found = value.dict().find(key);
    return found ? std::optional(*found) : std::nullopt;
  }
  if (!key.is_integer() && !key.is_boolean()) return std::nullopt;
  const bool is_text = value.is_string();
  if (!is_text && !value.is_array()) return std::nullopt;
  const auto size = static_cast<int64_t>(length_of(value));
  const int64_t index =
      key.integer() < 0 ? key.integer() + size : key.integer();
  if (index < 0 || index >= size) return std::nullopt;
  if (!is_text) return value.items()[index];
  const std::string_view all = value.string();
  const size_t begin = byte_offset(all, index);
  return all.substr(begin, byte_offset(all.substr(begin), 1));
}

}  // namespace

void require_defined(const Value& value) {
  if (value.is_undefined()) fail(value.undefined_text());
}

Value get_attribute(const Value& value, std::string_view name) {
  require_defined(value);
  if (std::optional<Value> member = find_member(value, name))
    return std::move(*member);
  if (value.is_mapping())
    if (const Value* found = value.dict().find_name(name)) return *found;
  return missing(value, name);
}

Value get_item(const Value& value, const Value& key) {
  require_defined(value);
  if (std::optional<Value> found = find_indexed(value, key))
    return std::move(*found);
  if (key.is_string()) {
    if (std::optional<Value> member = find_member(value, key.string()))
      return std::move(*member);
    return missing(value, key.string());
  }
  return Value::undefined(text("'", value.type_name(), "' has no such item"));
}

Value get_slice(const Value& value, const Slice& slice, Budget& budget) {
  require_defined(value);
  if (value.is_string()) {
    const auto characters = split_characters(value.string());
    std::string out;
    for (const size_t i : slice_indices(slice, characters.size()))
      out += characters[i];
    budget.charge_bytes(value.string().size());
    return out;
  }
  if (!value.is_array()) fail("a ", value.type_name(), " has no slices");
  List out;
  for (const size_t i : slice_indices(slice, value.items().size()))
    out.push_back(value.items()[i]);
  budget.charge_items(out.size());
  return Value::sequence(std::move(out), value.kind());
}

Value get_path(const Value& value, const Value& path) {
  if (!path.is_string()) return get_item(value, path);
  Value at = value;
  std::string_view rest = path.string();
  while (true) {
    const size_t dot = rest.find('.');
    const std::string_view part = rest.substr(0, dot);
    int64_t index = 0;
    const auto end =
        std::from_chars(part.data(), part.data() + part.size(), index);
    const bool is_index = end.ec == std::errc() && index >= 0 &&
                          end.ptr == part.data() + part.size();
    at = get_item(at, is_index ? Value(index) : Value(part));
    if (dot == std::string_view::npos) return at;
    rest.remove_prefix(dot + 1);
  }
}

Items iterate(const Value& value, Budget& budget) {
  if (value.is_sequence()) return Items(value.take_items());
  auto items = std::make_shared<List>();
  if (value.is_undefined()) return Items(items);
  if (value.is_mapping()) {
    for (const auto& [key, item] : value.dict().entries())
      items->push_back(key);
  } else if (value.is_string()) {
    budget.charge_items(value.string().size());
    for (const std::string_view character : split_characters(value.string()))
      items->push_back(character);
  } else {
    fail("a ", value.type_name(), " has no items to go over");
  }
  budget.charge_items(items->size());
  return Items(items);
}

size_t length_of(const Value& value) {
  if (value.is_undefined()) return 0;
  if (value.is_string()) return count_characters(value.string());
  if (value.is_mapping()) return value.dict().size();
  if (value.is_sequence() && !value.is_kind(SequenceKind::kGenerator))
    return value.items().size();
  if (value.is_sequence())
    fail("a generator has no length. Make a list of it with the filter `list`");
  fail("a ", value.type_name(), " has no length");
}

std::string text_of(const Value& value, Budget& budget) {
  std::string out = to_text(value, budget);
  budget.charge_bytes(out.size());
  return out;
}

}  // namespace titan::chat
