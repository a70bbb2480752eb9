// SPDX-License-Identifier: BSD-3-Clause
#include "core/config/schema_registry.h"

#include <algorithm>

#include <titan/error.h>

#include "core/config/validate.h"

namespace titan::config {
namespace {

// The taxonomy's number for an id that two components claim.
constexpr int kDuplicateId = 407;

// "titan.model/1" -> "model"
std::string_view short_kind(std::string_view kind) {
  if (kind.starts_with("titan.")) kind.remove_prefix(6);
  return kind.substr(0, kind.find('/'));
}

}  // namespace

const Value* Component::flavor(std::string_view name) const {
  for (const auto& [known, config] : flavors) {
    if (known == name) return &config;
  }
  return nullptr;
}

void SchemaRegistry::add_section(const std::string& name,
                                 std::string_view schema_json,
                                 bool is_required) {
  TITAN_CHECK(
      root_.property(name) == nullptr, "[config] section twice: ", name);
  root_.types = {Value::Type::kMap};
  root_.properties.push_back({name, parse_schema(schema_json, name)});
  sections_json_.set(name, Value::from_json(schema_json, name));
  if (is_required) root_.required.push_back(name);
}

void SchemaRegistry::add_component(
    std::string_view kind,
    const std::string& id,
    std::string_view schema_json,
    const std::vector<std::pair<std::string, std::string>>& flavors) {
  if (find(kind, id) != nullptr)
    throw UserError(text("[",
                         id,
                         "] DUPLICATE_ID (407): another ",
                         short_kind(kind),
                         " has this id"),
                    kDuplicateId);
  Component component{std::string(short_kind(kind)), id, {}, {}, {}};
  component.schema = parse_schema(schema_json, id);
  component.schema_json = Value::from_json(schema_json, id);
  for (const auto& [name, json] : flavors) {
    const std::string where = text("flavor ", name, " of ", id);
    Value config = Value::from_json(json, where);
    std::vector<Problem> problems;
    validate_partial(component.schema, config, "", problems);
    if (!problems.empty())
      throw UserError(text("[",
                           where,
                           "] SCHEMA_INVALID (507): ",
                           format_problem(problems.front())),
                      code::kSchemaInvalid);
    config.set_origin_everywhere(
        {Origin::Kind::kFlavor,
         0,
         0,
         std::make_shared<const std::string>(text(name, " of ", id))});
    component.flavors.emplace_back(name, std::move(config));
  }
  components_.push_back(std::move(component));
}

std::string SchemaRegistry::to_json() const {
  Value::List required;
  for (const std::string& name : root_.required) required.emplace_back(name);
  Value components = Value::empty_map();
  for (const Component& component : components_) {
    if (components.find(component.kind) == nullptr)
      components.set(component.kind, Value::empty_map());
    Value flavors = Value::empty_map();
    for (const auto& [name, config] : component.flavors)
      flavors.set(name, config);
    Value entry = Value::empty_map();
    entry.set("schema", component.schema_json);
    entry.set("flavors", std::move(flavors));
    components.find(component.kind)->set(component.id, std::move(entry));
  }
  Value out = Value::empty_map();
  out.set("type", Value("object"));
  out.set("properties", sections_json_);
  out.set("required", Value(std::move(required)));
  out.set("x-components", std::move(components));
  return out.to_json();
}

const Component* SchemaRegistry::find(std::string_view kind,
                                      std::string_view id) const {
  const auto it = std::find_if(
      components_.begin(), components_.end(), [&](const Component& c) {
        return c.kind == short_kind(kind) && c.id == id;
      });
  return it == components_.end() ? nullptr : &*it;
}

std::vector<std::string> SchemaRegistry::ids(std::string_view kind) const {
  std::vector<std::string> out;
  for (const Component& component : components_) {
    if (component.kind == short_kind(kind)) out.push_back(component.id);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace titan::config
