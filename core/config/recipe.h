// SPDX-License-Identifier: BSD-3-Clause
// A recipe that is complete and valid: what a person wrote, the defaults, and
// where each value came from. It also knows which keys were read: a key that
// someone set and nobody reads would be an option without effect.
//
//   Recipe recipe = load_recipe("llama3.yaml", overrides, registry);
//   const auto steps = recipe.integer("training.steps");
//   const Recipe data = recipe.section("data");   // shares the read marks
//
// Reading is thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <titan/error.h>

#include "core/config/compose.h"
#include "core/config/schema_registry.h"

namespace titan::config {

class Recipe {
 public:
  /// Each reads the value at a dotted path and marks it as read. A path that
  /// the schema does not have, or another type, is a BugError.
  std::int64_t integer(std::string_view path) const;
  double number(std::string_view path) const;
  bool boolean(std::string_view path) const;
  std::string string(std::string_view path) const;
  std::vector<std::string> strings(std::string_view path) const;
  /// As above; nothing where the value is null or absent.
  std::optional<std::int64_t> optional_integer(std::string_view path) const;
  std::optional<double> optional_number(std::string_view path) const;
  std::optional<std::string> optional_string(std::string_view path) const;
  /// Return the value and mark it and everything in it as read.
  const Value::List& list(std::string_view path) const;
  const Value& value(std::string_view path) const;
  /// Canonical JSON of the value: what a plugin gets as its config.
  std::string json(std::string_view path) const;

  /// Returns a view whose paths start at `path`; marks nothing.
  Recipe section(std::string_view path) const;
  /// Tells whether there is a value that is not null; marks nothing.
  bool has(std::string_view path) const;
  /// Returns where the value came from; marks nothing.
  Origin origin(std::string_view path) const;

  /// Returns, for throwing, "file:line:column: [path] what".
  UserError error_at(std::string_view path,
                     const std::string& what,
                     int code = code::kConflict) const;

  /// Lists the keys that a person set and nobody read so far.
  std::vector<std::string> unused() const;
  /// Throws UserError 505 that names every unused key.
  void require_all_used() const;

  /// The whole resolved tree; marks nothing.
  const Value& root() const;
  /// The recipe's file as it was named, and every file it was made from.
  const std::string& file() const;
  const std::vector<std::string>& files() const;
  /// Every key of the core schema (schema.h, KeyDescription::path).
  const std::vector<std::string>& schema_keys() const;

 private:
  struct State;
  friend Recipe resolve_recipe(Composition, const SchemaRegistry&);

  Recipe(std::shared_ptr<State> state, std::string prefix);
  std::string full_path(std::string_view path) const;
  const Value* find(std::string_view path) const;
  const Value& read(std::string_view path, Value::Type type) const;
  const Value* read_optional(std::string_view path, Value::Type type) const;
  void mark(const std::string& full_path) const;

  std::shared_ptr<State> state_;
  std::string prefix_;
};

/// Validates and completes what compose_recipe read; all faults in one
/// UserError. In values of format "path", ${recipe_dir} is the absolute folder
/// of the file that holds the value (of the recipe for --set and defaults) and
/// ${name} the recipe's name.
Recipe resolve_recipe(Composition composition, const SchemaRegistry& registry);

/// compose_recipe and resolve_recipe.
Recipe load_recipe(const std::string& file,
                   const std::vector<std::string>& overrides,
                   const SchemaRegistry& registry);

/// Validates one section alone: `plugins` is needed before the components that
/// the other sections name can be registered.
Value resolve_section(const Composition& composition,
                      const SchemaRegistry& registry,
                      const std::string& section);

}  // namespace titan::config
