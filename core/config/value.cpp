// SPDX-License-Identifier: BSD-3-Clause
// The tree itself. JSON in and out is in value_json.cpp.
#include "core/config/value.h"

#include <algorithm>
#include <utility>

#include <titan/error.h>

#include "core/config/path.h"

namespace titan::config {
namespace {

// Text longer than this is cut in messages: a prompt may be a page.
constexpr std::size_t kShownTextBytes = 60;

template <typename Expected, typename Data>
auto& get_as(Data& data, Value::Type expected, Value::Type got) {
  auto* held = std::get_if<Expected>(&data);
  TITAN_CHECK(held != nullptr,
              "[config] value has another type: expected ",
              type_name(expected),
              ", got ",
              type_name(got));
  return *held;
}

void collect_differences(const Value& left,
                         const Value& right,
                         const std::string& path,
                         std::vector<Difference>& out) {
  if (!left.is_map() || !right.is_map()) {
    if (!(left == right)) out.push_back({path, &left, &right});
    return;
  }
  for (const auto& entry : left.as_map()) {
    const std::string child = join_path(path, entry.key);
    if (const Value* other = right.find(entry.key)) {
      collect_differences(entry.value, *other, child, out);
    } else {
      out.push_back({child, &entry.value, nullptr});
    }
  }
  for (const auto& entry : right.as_map()) {
    if (!left.find(entry.key))
      out.push_back({join_path(path, entry.key), nullptr, &entry.value});
  }
}

}  // namespace

std::string Origin::describe() const {
  const std::string name = source ? *source : std::string();
  switch (kind) {
    case Kind::kDefault:
      return "default";
    case Kind::kComponentDefault:
      return text("default of ", name);
    case Kind::kFlavor:
      return text("flavor ", name);
    case Kind::kFile:
      return text(name, ':', line, ':', column);
    case Kind::kOverride:
      return text("--set #", line);
    case Kind::kUnknown:
      break;
  }
  return "unknown place";
}

Origin file_origin(const std::string& file, int line, int column) {
  return {Origin::Kind::kFile,
          line,
          column,
          std::make_shared<const std::string>(file)};
}

Value::Value() = default;
Value::Value(bool value) : data_(value) {}
Value::Value(int value) : data_(std::int64_t{value}) {}
Value::Value(std::int64_t value) : data_(value) {}
Value::Value(double value) : data_(value) {}
Value::Value(const char* value) : data_(std::string(value)) {}
Value::Value(std::string value) : data_(std::move(value)) {}
Value::Value(List value) : data_(std::move(value)) {}
Value::Value(Map value) : data_(std::move(value)) {}
Value::Value(const Value& other) = default;
Value::Value(Value&& other) noexcept = default;
Value& Value::operator=(const Value& other) = default;
Value& Value::operator=(Value&& other) noexcept = default;
Value::~Value() = default;

Value Value::empty_map() {
  return Value(Map{});
}

bool Value::as_boolean() const {
  return get_as<bool>(data_, Type::kBoolean, type());
}

std::int64_t Value::as_integer() const {
  return get_as<std::int64_t>(data_, Type::kInteger, type());
}

double Value::as_number() const {
  if (is_integer()) return static_cast<double>(as_integer());
  return get_as<double>(data_, Type::kNumber, type());
}

const std::string& Value::as_string() const {
  return get_as<std::string>(data_, Type::kString, type());
}

const Value::List& Value::as_list() const {
  return get_as<List>(data_, Type::kList, type());
}

Value::List& Value::as_list() {
  return get_as<List>(data_, Type::kList, type());
}

const Value::Map& Value::as_map() const {
  return get_as<Map>(data_, Type::kMap, type());
}

Value::Map& Value::as_map() {
  return get_as<Map>(data_, Type::kMap, type());
}

const Value* Value::find(std::string_view key) const {
  const Map* map = std::get_if<Map>(&data_);
  if (map == nullptr) return nullptr;
  const auto it = std::find_if(
      map->begin(), map->end(), [&](const Entry& e) { return e.key == key; });
  return it == map->end() ? nullptr : &it->value;
}

Value* Value::find(std::string_view key) {
  return const_cast<Value*>(std::as_const(*this).find(key));
}

const Value* Value::at_path(std::string_view path) const {
  const Value* at = this;
  for (const PathStep& step : parse_path(path)) {
    if (step.index >= 0) {
      if (!at->is_list()) return nullptr;
      const List& list = at->as_list();
      const auto index = static_cast<std::size_t>(step.index);
      at = index < list.size() ? &list[index] : nullptr;
    } else {
      at = at->find(step.key);
    }
    if (at == nullptr) return nullptr;
  }
  return at;
}

Value& Value::set(std::string key, Value value) {
  if (Value* held = find(key)) return *held = std::move(value);
  Origin origin = value.origin();
  as_map().push_back({std::move(key), std::move(origin), std::move(value)});
  return as_map().back().value;
}

void Value::erase(std::string_view key) {
  std::erase_if(as_map(), [&](const Entry& entry) { return entry.key == key; });
}

Value& Value::with_origin(Origin origin) {
  origin_ = std::move(origin);
  return *this;
}

void Value::set_origin_everywhere(const Origin& origin) {
  origin_ = origin;
  if (is_list()) {
    for (Value& item : as_list()) item.set_origin_everywhere(origin);
  } else if (is_map()) {
    for (Entry& entry : as_map()) {
      entry.key_origin = origin;
      entry.value.set_origin_everywhere(origin);
    }
  }
}

bool Value::operator==(const Value& other) const {
  if (type() != other.type()) return false;
  switch (type()) {
    case Type::kNull:
      return true;
    case Type::kBoolean:
      return as_boolean() == other.as_boolean();
    case Type::kInteger:
      return as_integer() == other.as_integer();
    case Type::kNumber:
      return as_number() == other.as_number();
    case Type::kString:
      return as_string() == other.as_string();
    case Type::kList:
      return as_list() == other.as_list();
    case Type::kMap:
      break;
  }
  const Map& map = as_map();
  return map.size() == other.as_map().size() &&
         std::all_of(map.begin(), map.end(), [&](const Entry& entry) {
           const Value* held = other.find(entry.key);
           return held != nullptr && *held == entry.value;
         });
}

std::string_view type_name(Value::Type type) {
  constexpr std::string_view kNames[] = {
      "null", "boolean", "integer", "number", "string", "list", "map"};
  return kNames[static_cast<int>(type)];
}

std::string describe_value(const Value& value) {
  switch (value.type()) {
    case Value::Type::kNull:
      return "null";
    case Value::Type::kList:
      return text("list of ", value.as_list().size());
    case Value::Type::kMap:
      return text("map of ", value.as_map().size());
    case Value::Type::kString:
      if (value.as_string().size() > kShownTextBytes)
        return text("string of ", value.as_string().size(), " bytes");
      break;
    default:
      break;
  }
  return text(type_name(value.type()), ' ', value.to_json());
}

std::vector<Difference> diff(const Value& left, const Value& right) {
  std::vector<Difference> out;
  collect_differences(left, right, "", out);
  return out;
}

}  // namespace titan::config
