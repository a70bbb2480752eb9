// SPDX-License-Identifier: BSD-3-Clause
#include "core/chat/value.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/chat/object.h"
#include "core/chat/problem.h"

namespace titan::chat {
namespace {

// A string of so many bytes costs about as much to walk as another value.
constexpr size_t kBytesPerWeight = 64;

void add_extent(const Extent& inner, Extent& outer) {
  outer.depth = std::max(outer.depth, inner.depth + 1);
  outer.weight += inner.weight;
  if (outer.depth > kMaxValueDepth)
    fail(
        "values nest too deeply: expected at most ", kMaxValueDepth, " levels");
  if (outer.weight > kMaxValueWeight)
    fail("a value is too large: expected at most ",
         kMaxValueWeight,
         " values in it");
}

// Equal keys have equal texts: 1, 1.0 and true are one key in Python.
std::optional<std::string> key_text(const Value& key) {
  if (key.is_string()) return "s" + key.string();
  if (key.is_none()) return "none";
  if (key.is_boolean() || key.is_integer()) return text("n", key.integer());
  if (key.is_float()) {
    const double number = key.number();
    if (number == std::floor(number) && std::abs(number) < 0x1p62)
      return text("n", static_cast<int64_t>(number));
    return text("n", number);
  }
  if (!key.is_kind(SequenceKind::kTuple)) return std::nullopt;
  std::string all = "t";
  for (const Value& item : key.items()) {
    const std::optional<std::string> one = key_text(item);
    if (!one) return std::nullopt;
    all += text(one->size(), ':', *one);
  }
  return all;
}

bool are_equal_lists(const Value& a, const Value& b) {
  if (a.kind() != b.kind() || a.items().size() != b.items().size())
    return false;
  return std::equal(
      a.items().begin(), a.items().end(), b.items().begin(), is_equal);
}

bool are_equal_dicts(const Dict& a, const Dict& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [key, value] : a.entries()) {
    const Value* other = b.find(key);
    if (!other || !is_equal(value, *other)) return false;
  }
  return true;
}

}  // namespace

Value::Value(Dict value)
    : data_(std::make_shared<const Dict>(std::move(value))) {}

Value Value::undefined(std::string what) {
  Value value;
  value.data_ = Undefined{std::make_shared<const std::string>(std::move(what))};
  return value;
}

Value Value::markup(std::string bytes) {
  Value value;
  value.data_ = Text{std::make_shared<const std::string>(std::move(bytes)),
                     /*is_markup=*/true};
  return value;
}

Value Value::sequence(List items, SequenceKind kind) {
  SequenceData data;
  data.kind = kind;
  data.extent.depth = 1;
  for (const Value& item : items) add_extent(item.extent(), data.extent);
  data.items = std::move(items);
  Value value;
  value.data_ = std::make_shared<const SequenceData>(std::move(data));
  return value;
}

bool Value::is_markup() const {
  return is_string() && std::get<Text>(data_).is_markup;
}

bool Value::is_kind(SequenceKind kind) const {
  return is_sequence() && this->kind() == kind;
}

bool Value::is_array() const {
  return is_kind(SequenceKind::kList) || is_kind(SequenceKind::kTuple) ||
         is_kind(SequenceKind::kRange);
}

int64_t Value::integer() const {
  return is_boolean() ? boolean() : std::get<int64_t>(data_);
}

double Value::number() const {
  return is_float() ? std::get<double>(data_) : static_cast<double>(integer());
}

const List& Value::items() const {
  return std::get<Sequence>(data_)->items;
}

SequenceKind Value::kind() const {
  return std::get<Sequence>(data_)->kind;
}

std::shared_ptr<const List> Value::take_items() const {
  const Sequence& data = std::get<Sequence>(data_);
  if (data->kind == SequenceKind::kGenerator) {
    if (data->is_used_up) return std::make_shared<const List>();
    data->is_used_up = true;
  }
  return {data, &data->items};
}

bool Value::is_true() const {
  if (is_undefined() || is_none()) return false;
  if (is_number()) return number() != 0;
  if (is_string()) return !string().empty();
  if (is_mapping()) return dict().size() > 0;
  if (is_sequence())
    return kind() == SequenceKind::kGenerator || !items().empty();
  return true;
}

std::string_view Value::type_name() const {
  if (is_undefined()) return "undefined";
  if (is_none()) return "none";
  if (is_boolean()) return "bool";
  if (is_integer()) return "int";
  if (is_float()) return "float";
  if (is_string()) return "str";
  if (is_mapping()) return "dict";
  if (is_object()) return object()->type_name();
  switch (kind()) {
    case SequenceKind::kList:
      return "list";
    case SequenceKind::kTuple:
      return "tuple";
    case SequenceKind::kRange:
      return "range";
    case SequenceKind::kView:
      return "view of a dict";
    case SequenceKind::kGenerator:
      break;
  }
  return "generator";
}

Extent Value::extent() const {
  if (is_sequence()) return std::get<Sequence>(data_)->extent;
  if (is_mapping()) return dict().extent();
  if (is_object()) return object()->extent();
  if (!is_string()) return {};
  return {0, 1 + static_cast<int64_t>(string().size() / kBytesPerWeight)};
}

void Dict::set(Value key, Value value) {
  const std::optional<std::string> known = key_text(key);
  if (!known) fail("a ", key.type_name(), " cannot be the key of a dict");
  add_extent(key.extent(), extent_);
  add_extent(value.extent(), extent_);
  const auto [place, is_new] = index_.emplace(*known, entries_.size());
  if (is_new)
    entries_.emplace_back(std::move(key), std::move(value));
  else
    entries_[place->second].second = std::move(value);
}

const Value* Dict::find(const Value& key) const {
  const std::optional<std::string> known = key_text(key);
  if (!known) return nullptr;
  const auto found = index_.find(*known);
  return found == index_.end() ? nullptr : &entries_[found->second].second;
}

const Value* Dict::find_name(std::string_view key) const {
  const auto found = index_.find(text("s", key));
  return found == index_.end() ? nullptr : &entries_[found->second].second;
}

int64_t truncate_to_integer(double number) {
  if (!(std::abs(number) < 0x1p63))
    fail("expected a number of 64 bits, got ", number);
  return static_cast<int64_t>(number);
}

bool is_equal(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    if (a.is_float() || b.is_float()) return a.number() == b.number();
    return a.integer() == b.integer();
  }
  if (a.is_string() && b.is_string()) return a.string() == b.string();
  if (a.is_mapping() && b.is_mapping())
    return are_equal_dicts(a.dict(), b.dict());
  if (a.is_array() && b.is_array()) return are_equal_lists(a, b);
  if (a.is_sequence() && b.is_sequence()) return &a.items() == &b.items();
  if (a.is_object() && b.is_object()) return a.object() == b.object();
  return (a.is_none() && b.is_none()) || (a.is_undefined() && b.is_undefined());
}

bool is_less(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    if (a.is_float() || b.is_float()) return a.number() < b.number();
    return a.integer() < b.integer();
  }
  // The order of UTF-8's bytes is that of code points.
  if (a.is_string() && b.is_string()) return a.string() < b.string();
  if (a.is_array() && b.is_array() && a.kind() == b.kind() &&
      !a.is_kind(SequenceKind::kRange)) {
    const size_t size = std::min(a.items().size(), b.items().size());
    for (size_t i = 0; i < size; ++i)
      if (!is_equal(a.items()[i], b.items()[i]))
        return is_less(a.items()[i], b.items()[i]);
    return a.items().size() < b.items().size();
  }
  if (a.is_undefined()) fail(a.undefined_text());
  if (b.is_undefined()) fail(b.undefined_text());
  fail("there is no order between ", a.type_name(), " and ", b.type_name());
}

}  // namespace titan::chat
