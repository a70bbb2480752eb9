// SPDX-License-Identifier: BSD-3-Clause
// Everything a recipe may say: the core's sections, the components that loaded
// plugins offer, and the rules between keys. Filled before a recipe is
// resolved, read-only after. The core's own content: recipe_schema.h.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/config/problem.h"
#include "core/config/schema.h"

namespace titan::config {

/// What a plugin offers under `{use: id, flavor: ..., config: {...}}`.
struct Component {
  std::string kind;
  std::string id;
  Schema schema;
  Value schema_json;
  std::vector<std::pair<std::string, Value>> flavors;

  const Value* flavor(std::string_view name) const;
};

/// Looks at a resolved recipe and returns what does not fit together. A problem
/// without origin gets the place of its path.
using Rule = std::function<std::vector<Problem>(const Value& root)>;

class SchemaRegistry {
 public:
  /// Adds a top-level key; `is_required` maps must hold their required keys.
  void add_section(const std::string& name,
                   std::string_view schema_json,
                   bool is_required = false);

  /// Adds a component. `kind` is "model" or the ABI's form "titan.model/1";
  /// flavors are pairs of a name and the JSON of a partial config. Throws
  /// UserError 507 for a bad schema or flavor, 407 for an id that is taken.
  void add_component(
      std::string_view kind,
      const std::string& id,
      std::string_view schema_json,
      const std::vector<std::pair<std::string, std::string>>& flavors = {});

  void add_rule(Rule rule) { rules_.push_back(std::move(rule)); }

  const Schema& root() const { return root_; }
  /// Returns the sections and components as JSON, in the dialect of schema.h.
  std::string to_json() const;
  const std::vector<Rule>& rules() const { return rules_; }
  /// Returns null if there is no such component.
  const Component* find(std::string_view kind, std::string_view id) const;
  std::vector<std::string> ids(std::string_view kind) const;

 private:
  Schema root_;
  Value sections_json_ = Value::empty_map();
  std::deque<Component> components_;  // pointers stay valid
  std::vector<Rule> rules_;
};

}  // namespace titan::config
