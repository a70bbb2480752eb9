// SPDX-License-Identifier: BSD-3-Clause
#include "core/config/recipe.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <set>

#include "core/config/path.h"
#include "core/config/validate.h"

namespace titan::config {

struct Recipe::State {
  Value root;
  std::string file;
  std::vector<std::string> files;
  std::vector<std::string> schema_keys;
  std::mutex mutex;
  std::set<std::string> reads;  // guarded by mutex
};

namespace {

std::string folder_of(const std::string& file) {
  std::error_code error;
  const auto path = std::filesystem::weakly_canonical(file, error);
  return path.parent_path().string();
}

ValidationScope make_scope(const Composition& composition,
                           const SchemaRegistry& registry) {
  ValidationScope scope;
  scope.registry = &registry;
  const Value* given = composition.root.find("name");
  std::string name = given != nullptr && given->is_string() ? given->as_string()
                                                            : composition.name;
  scope.variable = [name, file = composition.file](const std::string& variable,
                                                   const Origin& origin) {
    if (variable == "name") return name;
    if (variable != "recipe_dir") return std::string();
    return folder_of(origin.kind == Origin::Kind::kFile ? *origin.source
                                                        : file);
  };
  return scope;
}

// The value's own place, or that of the nearest thing around it which has one.
Origin place_of(const Value& root, const std::string& path) {
  const Value* at = &root;
  Origin place = root.origin();
  try {
    for (const PathStep& step : parse_path(path)) {
      if (step.index >= 0) {
        const auto index = static_cast<std::size_t>(step.index);
        at = at->is_list() && index < at->as_list().size()
                 ? &at->as_list()[index]
                 : nullptr;
      } else {
        at = at->find(step.key);
      }
      if (at == nullptr) break;
      if (at->origin().is_user()) place = at->origin();
    }
  } catch (const UserError&) {
    // A rule may name a path loosely; the place of the root will do.
  }
  return place;
}

void apply_rules(const SchemaRegistry& registry,
                 const Value& root,
                 std::vector<Problem>& problems) {
  for (const Rule& rule : registry.rules()) {
    for (Problem problem : rule(root)) {
      if (problem.origin.kind == Origin::Kind::kUnknown)
        problem.origin = place_of(root, problem.path);
      if (problem.code == 0) problem.code = code::kConflict;
      problems.push_back(std::move(problem));
    }
  }
}

void collect_unused(const Value& value,
                    const std::string& path,
                    const std::set<std::string>& reads,
                    std::vector<std::string>& out) {
  if (reads.count(path) != 0) return;
  if (value.is_map()) {
    for (const auto& entry : value.as_map())
      collect_unused(entry.value, join_path(path, entry.key), reads, out);
  } else if (value.is_list() && !value.as_list().empty()) {
    for (std::size_t i = 0; i < value.as_list().size(); ++i)
      collect_unused(value.as_list()[i], text(path, '[', i, ']'), reads, out);
  } else if (value.origin().is_user()) {
    out.push_back(path);
  }
}

// Resolution itself honours these; nobody else needs to read them.
void mark_resolved_keys(const Schema& root, std::set<std::string>& reads) {
  for (const Property& section : root.properties) {
    if (!section.schema.component_kind.empty())
      reads.insert(section.name + ".flavor");
  }
}

}  // namespace

Recipe::Recipe(std::shared_ptr<State> state, std::string prefix)
    : state_(std::move(state)), prefix_(std::move(prefix)) {}

std::string Recipe::full_path(std::string_view path) const {
  if (prefix_.empty()) return std::string(path);
  return path.empty() ? prefix_ : text(prefix_, '.', path);
}

const Value* Recipe::find(std::string_view path) const {
  return state_->root.at_path(full_path(path));
}

void Recipe::mark(const std::string& path) const {
  std::string canonical;
  for (const PathStep& step : parse_path(path)) {
    if (step.index >= 0) {
      canonical += text('[', step.index, ']');
    } else {
      canonical = join_path(canonical, step.key);
    }
  }
  const std::lock_guard lock(state_->mutex);
  state_->reads.insert(std::move(canonical));
}

const Value* Recipe::read_optional(std::string_view path,
                                   Value::Type type) const {
  const Value* value = find(path);
  mark(full_path(path));
  if (value == nullptr || value->is_null()) return nullptr;
  const bool fits = value->type() == type ||
                    (type == Value::Type::kNumber && value->is_number());
  TITAN_CHECK(fits,
              '[',
              full_path(path),
              "] recipe value is read as another type than its schema says: "
              "expected ",
              type_name(type),
              ", got ",
              describe_value(*value));
  return value;
}

const Value& Recipe::read(std::string_view path, Value::Type type) const {
  const Value* value = read_optional(path, type);
  TITAN_CHECK(value != nullptr,
              '[',
              full_path(path),
              "] recipe has no such value, or null: expected a key with a "
              "default in the schema");
  return *value;
}

std::int64_t Recipe::integer(std::string_view path) const {
  return read(path, Value::Type::kInteger).as_integer();
}

double Recipe::number(std::string_view path) const {
  return read(path, Value::Type::kNumber).as_number();
}

bool Recipe::boolean(std::string_view path) const {
  return read(path, Value::Type::kBoolean).as_boolean();
}

std::string Recipe::string(std::string_view path) const {
  return read(path, Value::Type::kString).as_string();
}

std::vector<std::string> Recipe::strings(std::string_view path) const {
  std::vector<std::string> out;
  for (const Value& item : list(path)) out.push_back(item.as_string());
  return out;
}

std::optional<std::int64_t> Recipe::optional_integer(
    std::string_view path) const {
  const Value* value = read_optional(path, Value::Type::kInteger);
  return value ? std::optional(value->as_integer()) : std::nullopt;
}

std::optional<double> Recipe::optional_number(std::string_view path) const {
  const Value* value = read_optional(path, Value::Type::kNumber);
  return value ? std::optional(value->as_number()) : std::nullopt;
}

std::optional<std::string> Recipe::optional_string(
    std::string_view path) const {
  const Value* value = read_optional(path, Value::Type::kString);
  return value ? std::optional(value->as_string()) : std::nullopt;
}

const Value::List& Recipe::list(std::string_view path) const {
  return read(path, Value::Type::kList).as_list();
}

const Value& Recipe::value(std::string_view path) const {
  const Value* value = find(path);
  TITAN_CHECK(
      value != nullptr, '[', full_path(path), "] recipe has no such value");
  mark(full_path(path));
  return *value;
}

std::string Recipe::json(std::string_view path) const {
  return value(path).to_json();
}

Recipe Recipe::section(std::string_view path) const {
  TITAN_CHECK(find(path) != nullptr,
              '[',
              full_path(path),
              "] recipe has no such section");
  return Recipe(state_, full_path(path));
}

bool Recipe::has(std::string_view path) const {
  const Value* value = find(path);
  return value != nullptr && !value->is_null();
}

Origin Recipe::origin(std::string_view path) const {
  const Value* value = find(path);
  return value != nullptr ? value->origin() : Origin{};
}

UserError Recipe::error_at(std::string_view path,
                           const std::string& what,
                           int code) const {
  const std::string full = full_path(path);
  return UserError(
      format_problem({place_of(state_->root, full), full, what, code}), code);
}

std::vector<std::string> Recipe::unused() const {
  std::vector<std::string> out;
  const std::lock_guard lock(state_->mutex);
  collect_unused(state_->root, "", state_->reads, out);
  return out;
}

void Recipe::require_all_used() const {
  std::vector<Problem> problems;
  for (const std::string& path : unused())
    problems.push_back({place_of(state_->root, path),
                        path,
                        "key has no effect with the rest of this recipe: "
                        "expected it to be read, got no reader. Remove it.",
                        code::kUnusedKey});
  throw_if_any(problems);
}

const Value& Recipe::root() const {
  return state_->root;
}
const std::string& Recipe::file() const {
  return state_->file;
}
const std::vector<std::string>& Recipe::files() const {
  return state_->files;
}

const std::vector<std::string>& Recipe::schema_keys() const {
  return state_->schema_keys;
}

Recipe resolve_recipe(Composition composition, const SchemaRegistry& registry) {
  TITAN_CHECK(composition.root.find("extends") == nullptr,
              "[extends] recipe is not composed yet");
  std::vector<Problem> problems;
  auto state = std::make_shared<Recipe::State>();
  const ValidationScope scope = make_scope(composition, registry);
  state->root =
      validate(registry.root(), composition.root, "", scope, problems);
  throw_if_any(problems);
  state->root.erase("extends");
  const Value* name = state->root.find("name");
  if (registry.root().property("name") && (!name || name->is_null())) {
    Value file_name(composition.name);
    state->root.set("name", file_name.with_origin(scope.default_origin));
  }
  apply_rules(registry, state->root, problems);
  throw_if_any(problems);
  state->file = composition.file;
  state->files = std::move(composition.files);
  for (const KeyDescription& key : list_keys(registry.root()))
    state->schema_keys.push_back(key.path);
  mark_resolved_keys(registry.root(), state->reads);
  return Recipe(std::move(state), "");
}

Recipe load_recipe(const std::string& file,
                   const std::vector<std::string>& overrides,
                   const SchemaRegistry& registry) {
  return resolve_recipe(compose_recipe(file, overrides, registry.root()),
                        registry);
}

Value resolve_section(const Composition& composition,
                      const SchemaRegistry& registry,
                      const std::string& section) {
  const Schema* schema = registry.root().property(section);
  TITAN_CHECK(schema != nullptr, "[config] no such section: ", section);
  Value empty = Value::empty_map();
  const Value* given = composition.root.find(section);
  const Value& start = given != nullptr && !given->is_null() ? *given : empty;
  std::vector<Problem> problems;
  Value out = validate(
      *schema, start, section, make_scope(composition, registry), problems);
  throw_if_any(problems);
  return out;
}

}  // namespace titan::config
