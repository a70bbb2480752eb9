// SPDX-License-Identifier: BSD-3-Clause
// The part of JSON Schema that recipes use: for the core's sections and for the
// `config` of every plugin component. Keywords:
//   type properties additionalProperties required default enum minimum maximum
//   exclusiveMinimum exclusiveMaximum items minItems maxItems oneOf description
//   format ("path", "op_id", "sha256"), and ours:
//   x-unit       unit for the reference page
//   x-group      behavior | performance | debug
//   x-shorthand  "use": a plain string s stands for {use: s}
//   x-component  "model": a map {use, flavor, config} that picks a component
//   x-refused    {value: reason}: enum values people expect and why not
// Any other keyword is an error: one that is ignored would check nothing.
// Unlike in JSON Schema, a map takes only its `properties` unless
// additionalProperties says more.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/config/value.h"

namespace titan::config {

struct Property;

struct Schema {
  std::vector<Value::Type> types;  ///< empty: any
  std::vector<Property> properties;
  bool allows_any_key = false;
  std::shared_ptr<const Schema> additional;  ///< of keys not in properties
  std::vector<std::string> required;
  std::optional<Value> default_value;
  std::vector<Value> allowed;  ///< enum
  std::optional<double> minimum, maximum;
  std::optional<double> exclusive_minimum, exclusive_maximum;
  std::shared_ptr<const Schema> items;
  std::optional<std::int64_t> min_items, max_items;
  std::vector<Schema> one_of;
  std::vector<std::pair<std::string, std::string>> refused;
  std::string description, unit, group, format;
  std::string shorthand, component_kind;

  const Schema* property(std::string_view name) const;
  bool allows(Value::Type type) const;
  bool requires_key(std::string_view name) const;
};

struct Property {
  std::string name;
  Schema schema;
};

/// Reads a schema. A fault in it, defaults that break it included, is a
/// UserError with code 507 that starts with `[where]`.
Schema parse_schema(std::string_view json, const std::string& where);

/// Returns "integer", "integer or null", "string (a | b)", "list of string".
std::string describe_type(const Schema& schema);

/// One key of a schema, as the reference page and the no-inert-option test
/// need it. Items of lists have the path `groups[].match`, free keys
/// `kernels.*.use`.
struct KeyDescription {
  std::string path;
  const Schema* schema;
};
/// Lists all keys below `schema`, parents before children, in schema order.
std::vector<KeyDescription> list_keys(const Schema& schema,
                                      const std::string& path = "");

}  // namespace titan::config
