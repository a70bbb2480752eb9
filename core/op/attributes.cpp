// SPDX-License-Identifier: BSD-3-Clause
// Attributes: storage, conversion from and to the plugin ABI, hashing.
#include "core/op/attributes.h"

#include <algorithm>
#include <functional>

#include <titan/error.h>

namespace titan::op {
namespace {

constexpr std::string_view kTypeNames[] =
    {"int", "float", "bool", "string", "list of int", "list of float"};

template <typename Value>
const Value& get_as(const Attributes& attributes, std::string_view name) {
  const AttributeValue* value = attributes.find(name);
  TITAN_CHECK(value != nullptr,
              "[attribute ",
              name,
              "] is not bound: expected one of ",
              attributes.text());
  const Value* typed = std::get_if<Value>(value);
  TITAN_CHECK(typed != nullptr,
              "[attribute ",
              name,
              "] has another type: expected ",
              type_name(AttributeValue(Value())),
              ", got ",
              type_name(*value));
  return *typed;
}

AttributeValue value_from_abi(std::string_view name, const titan_value& value) {
  const auto* data = value.data;
  switch (value.kind) {
    case TITAN_VALUE_INT:
    case TITAN_VALUE_DTYPE:
      return value.integer;
    case TITAN_VALUE_DOUBLE:
      return value.real;
    case TITAN_VALUE_BOOL:
      return value.integer != 0;
    case TITAN_VALUE_STRING:
      return std::string(static_cast<const char*>(data), value.size);
    case TITAN_VALUE_INT_LIST: {
      const auto* first = static_cast<const int64_t*>(data);
      return std::vector<int64_t>(first, first + value.size);
    }
    case TITAN_VALUE_DOUBLE_LIST: {
      const auto* first = static_cast<const double*>(data);
      return std::vector<double>(first, first + value.size);
    }
  }
  throw UserError(titan::text("[attribute ",
                              name,
                              "] has a kind that no attribute can have: "
                              "expected int, float, bool, string or a list of "
                              "numbers, got titan_value kind ",
                              value.kind));
}

titan_value value_to_abi(const AttributeValue& value) {
  titan_value out{};
  if (const auto* number = std::get_if<int64_t>(&value)) {
    out.kind = TITAN_VALUE_INT;
    out.integer = *number;
  } else if (const auto* real = std::get_if<double>(&value)) {
    out.kind = TITAN_VALUE_DOUBLE;
    out.real = *real;
  } else if (const auto* flag = std::get_if<bool>(&value)) {
    out.kind = TITAN_VALUE_BOOL;
    out.integer = *flag ? 1 : 0;
  } else if (const auto* word = std::get_if<std::string>(&value)) {
    out.kind = TITAN_VALUE_STRING;
    out.data = word->data();
    out.size = word->size();
  } else if (const auto* ints = std::get_if<std::vector<int64_t>>(&value)) {
    out.kind = TITAN_VALUE_INT_LIST;
    out.data = ints->data();
    out.size = ints->size();
  } else if (const auto* reals = std::get_if<std::vector<double>>(&value)) {
    out.kind = TITAN_VALUE_DOUBLE_LIST;
    out.data = reals->data();
    out.size = reals->size();
  }
  return out;
}

uint64_t mix(uint64_t hash, uint64_t value) {
  return (hash ^ value) * 0x100000001b3ull;  // FNV-1a, 64 bit
}

template <typename Value>
uint64_t hash_of(const Value& value) {
  return std::hash<Value>()(value);
}

template <typename Element>
uint64_t hash_of(const std::vector<Element>& values) {
  uint64_t hash = values.size();
  for (const Element& item : values) hash = mix(hash, hash_of(item));
  return hash;
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replace, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string_view type_name(const AttributeValue& value) {
  return kTypeNames[value.index()];
}

std::string to_text(const AttributeValue& value) {
  return std::visit([](const auto& item) { return titan::text(item); }, value);
}

Attributes::Attributes(std::initializer_list<Item> items) {
  for (const Item& item : items) set(item.first, item.second);
}

Attributes Attributes::from_abi(std::span<const titan_attribute> attributes) {
  Attributes out;
  for (const titan_attribute& attribute : attributes) {
    std::string name(attribute.name.data, attribute.name.size);
    TITAN_USER_CHECK(out.find(name) == nullptr,
                     "[attribute ",
                     name,
                     "] is given twice: expected once");
    AttributeValue value = value_from_abi(name, attribute.value);
    out.items_.emplace_back(std::move(name), std::move(value));
  }
  return out;
}

void Attributes::set(std::string name, AttributeValue value) {
  for (Item& item : items_) {
    if (item.first == name) {
      item.second = std::move(value);
      return;
    }
  }
  items_.emplace_back(std::move(name), std::move(value));
}

const AttributeValue* Attributes::find(std::string_view name) const {
  for (const Item& item : items_)
    if (item.first == name) return &item.second;
  return nullptr;
}

int64_t Attributes::get_int(std::string_view name) const {
  return get_as<int64_t>(*this, name);
}

double Attributes::get_double(std::string_view name) const {
  return get_as<double>(*this, name);
}

bool Attributes::get_bool(std::string_view name) const {
  return get_as<bool>(*this, name);
}

const std::string& Attributes::get_string(std::string_view name) const {
  return get_as<std::string>(*this, name);
}

const std::vector<int64_t>& Attributes::get_int_list(
    std::string_view name) const {
  return get_as<std::vector<int64_t>>(*this, name);
}

const std::vector<double>& Attributes::get_double_list(
    std::string_view name) const {
  return get_as<std::vector<double>>(*this, name);
}

std::vector<titan_attribute> Attributes::to_abi() const {
  std::vector<titan_attribute> out;
  out.reserve(items_.size());
  for (const auto& [name, value] : items_)
    out.push_back({{name.data(), name.size()}, value_to_abi(value)});
  return out;
}

uint64_t Attributes::hash() const {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (const auto& [name, value] : items_) {
    hash = mix(hash, hash_of(name));
    hash = mix(hash, value.index());
    hash =
        mix(hash,
            std::visit([](const auto& item) { return hash_of(item); }, value));
  }
  return hash;
}

std::string Attributes::text() const {
  std::string out;
  for (const auto& [name, value] : items_) {
    if (!out.empty()) out += ' ';
    out += titan::text(name, '=', to_text(value));
  }
  return out.empty() ? "no attributes" : out;
}

std::string nearest_name(std::string_view word,
                         std::span<const std::string> candidates) {
  std::string best;
  size_t best_distance = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace titan::op
