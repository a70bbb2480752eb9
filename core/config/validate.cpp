// SPDX-License-Identifier: BSD-3-Clause
// One walk over schema and value side by side.
#include "core/config/validate.h"

#include <algorithm>

#include <titan/error.h>

#include "core/config/merge.h"
#include "core/config/path.h"
#include "core/config/scalar_rules.h"
#include "core/config/suggest.h"

namespace titan::config {
namespace {

using Type = Value::Type;

class Validator {
 public:
  Validator(const ValidationScope& scope, std::vector<Problem>& problems)
      : scope_(scope), problems_(problems) {}

  Value check(const Schema& schema, Value value, const std::string& path) {
    if (!schema.one_of.empty()) return check_options(schema, value, path);
    if (!schema.shorthand.empty() && value.is_string())
      value = expand_shorthand(schema, value);
    if (!convert_number(schema, value)) {
      report(value.origin(),
             path,
             code::kType,
             text("value has the wrong type: expected ",
                  describe_type(schema),
                  ", got ",
                  describe_value(value),
                  '.',
                  hint_type(schema, value)));
      return value;
    }
    check_allowed(schema, value, path, problems_);
    if (value.is_number()) check_range(schema, value, path, problems_);
    if (value.is_string()) check_string(schema, value, path);
    if (value.is_list()) check_list(schema, value, path);
    if (value.is_map()) check_map(schema, value, path);
    return value;
  }

 private:
  void report(const Origin& origin,
              const std::string& path,
              int code,
              std::string what) {
    problems_.push_back({origin, path, std::move(what), code});
  }

  // The first option without faults; else the faults of the option whose type
  // fits; else a type error that names all of them.
  Value check_options(const Schema& schema,
                      const Value& value,
                      const std::string& path) {
    const Schema* fitting = nullptr;
    for (const Schema& option : schema.one_of) {
      std::vector<Problem> faults;
      Value result = Validator(scope_, faults).check(option, value, path);
      if (faults.empty()) return result;
      if (option.allows(value.type())) fitting = &option;
    }
    if (fitting != nullptr) return check(*fitting, value, path);
    report(value.origin(),
           path,
           code::kType,
           text("value has the wrong type: expected ",
                describe_type(schema),
                ", got ",
                describe_value(value),
                '.'));
    return value;
  }

  void check_string(const Schema& schema,
                    Value& value,
                    const std::string& path) {
    if (schema.format == "path") return substitute(value, path);
    if (!has_format(schema.format, value.as_string()))
      report(value.origin(),
             path,
             code::kRange,
             text("text has another form: expected ",
                  format_example(schema.format),
                  ", got ",
                  quote(value.as_string())));
  }

  void substitute(Value& value, const std::string& path) {
    if (!scope_.variable) return;
    const std::string& in = value.as_string();
    std::string out;
    std::size_t from = 0;
    for (auto at = in.find("${"); at != in.npos; at = in.find("${", from)) {
      const auto end = in.find('}', at);
      const std::string name =
          end == in.npos ? "" : in.substr(at + 2, end - at - 2);
      const std::string text_of =
          name.empty() ? "" : scope_.variable(name, value.origin());
      if (text_of.empty()) {
        return report(value.origin(),
                      path,
                      code::kRange,
                      text("path uses an unknown variable: expected "
                           "${recipe_dir} or ${name}, got ",
                           quote(in)));
      }
      out.append(in, from, at - from).append(text_of);
      from = end + 1;
    }
    out.append(in, from);
    const Origin origin = value.origin();
    value = Value(std::move(out));
    value.with_origin(origin);
  }

  void check_list(const Schema& schema, Value& value, const std::string& path) {
    Value::List& list = value.as_list();
    const auto size = static_cast<std::int64_t>(list.size());
    if (size < schema.min_items.value_or(0))
      report(value.origin(),
             path,
             code::kRange,
             text("list is too short: expected at least ",
                  *schema.min_items,
                  " items, got ",
                  size));
    if (schema.max_items && size > *schema.max_items)
      report(value.origin(),
             path,
             code::kRange,
             text("list is too long: expected at most ",
                  *schema.max_items,
                  " items, got ",
                  size));
    if (!schema.items) return;
    for (std::size_t i = 0; i < list.size(); ++i)
      list[i] = check(*schema.items, list[i], text(path, '[', i, ']'));
  }

  void check_map(const Schema& schema, Value& value, const std::string& path) {
    Value out = Value::empty_map();
    out.with_origin(value.origin());
    for (const Property& property : schema.properties) {
      const Value* given = value.find(property.name);
      const bool is_absent =
          given == nullptr ||
          (given->is_null() && !property.schema.allows(Type::kNull));
      // The config of a component is checked by the component's schema.
      if (!schema.component_kind.empty() && property.name == "config") continue;
      const std::string child = join_path(path, property.name);
      if (!is_absent) {
        out.set(property.name, check(property.schema, *given, child));
      } else {
        fill_absent(schema, property, child, out);
      }
    }
    for (const auto& entry : value.as_map()) {
      if (schema.property(entry.key) == nullptr)
        check_free_key(schema, entry, path, out);
    }
    keep_key_origins(value, out);
    if (!schema.component_kind.empty())
      check_component(schema, value, path, out);
    value = std::move(out);
  }

  static void keep_key_origins(const Value& from, Value& to) {
    for (Value::Entry& entry : to.as_map()) {
      for (const Value::Entry& given : from.as_map()) {
        if (given.key == entry.key) entry.key_origin = given.key_origin;
      }
    }
  }

  void fill_absent(const Schema& parent,
                   const Property& property,
                   const std::string& path,
                   Value& out) {
    const Schema& schema = property.schema;
    const bool is_required = parent.requires_key(property.name);
    if (schema.default_value) {
      Value value = *schema.default_value;
      value.set_origin_everywhere(scope_.default_origin);
      out.set(property.name, check(schema, std::move(value), path));
    } else if ((!schema.properties.empty() || schema.additional) &&
               (is_required || schema.required.empty())) {
      // An absent section says nothing: its keys have their defaults, and the
      // ones it must hold are reported by name. The place is the section
      // around it, as the nearest line that exists.
      Value value = Value::empty_map();
      value.with_origin(out.origin());
      Value filled = check(schema, std::move(value), path);
      filled.with_origin(scope_.default_origin);
      out.set(property.name, std::move(filled));
    } else if (is_required && scope_.checks_required) {
      report(out.origin(),
             path,
             code::kMissing,
             text("key is missing: expected ",
                  describe_type(schema),
                  schema.description.empty()
                      ? std::string()
                      : text(" (", schema.description, ')')));
    }
  }

  void check_free_key(const Schema& schema,
                      const Value::Entry& entry,
                      const std::string& path,
                      Value& out) {
    const std::string child = join_path(path, entry.key);
    if (schema.additional) {
      if (!has_format(schema.format, entry.key))
        report(entry.key_origin,
               child,
               code::kUnknownKey,
               text("key has another form: expected ",
                    format_example(schema.format),
                    ", got ",
                    quote(entry.key)));
      // Null removes what a lower layer said.
      if (entry.value.is_null() && !schema.additional->allows(Type::kNull))
        return;
      out.set(entry.key, check(*schema.additional, entry.value, child));
    } else if (schema.allows_any_key) {
      out.set(entry.key, entry.value);
    } else if (!entry.value.is_null() || entry.value.origin().is_user()) {
      std::vector<std::string> keys;
      for (const Property& property : schema.properties)
        keys.push_back(property.name);
      report(entry.key_origin,
             child,
             code::kUnknownKey,
             text("unknown key: expected a key of ",
                  path.empty() ? std::string("the recipe") : path,
                  ", got ",
                  quote(entry.key),
                  ". ",
                  suggest_key(path, entry.key, keys, all_paths())));
    }
  }

  // Paths with a fixed place, the configs of known components included.
  const std::vector<std::string>& all_paths() {
    if (!all_paths_.empty() || scope_.registry == nullptr) return all_paths_;
    const auto add = [&](const Schema& schema, const std::string& path) {
      for (const KeyDescription& key : list_keys(schema, path)) {
        if (key.path.find('*') == std::string::npos &&
            key.path.find("[]") == std::string::npos &&
            std::find(all_paths_.begin(), all_paths_.end(), key.path) ==
                all_paths_.end())
          all_paths_.push_back(key.path);
      }
    };
    const Schema& root = scope_.registry->root();
    add(root, "");
    for (const Property& section : root.properties) {
      const std::string& kind = section.schema.component_kind;
      if (kind.empty()) continue;
      for (const std::string& id : scope_.registry->ids(kind))
        add(scope_.registry->find(kind, id)->schema, section.name + ".config");
    }
    return all_paths_;
  }

  void check_component(const Schema& schema,
                       const Value& given,
                       const std::string& path,
                       Value& out) {
    const Value* use = out.find("use");
    const Value* config = given.find("config");
    if (config != nullptr && config->is_null()) config = nullptr;
    if (scope_.registry == nullptr || use == nullptr || !use->is_string()) {
      if (config != nullptr) out.set("config", *config);
      return;
    }
    const std::string& kind = schema.component_kind;
    const Component* component = scope_.registry->find(kind, use->as_string());
    if (component == nullptr) return report_component(kind, *use, path);
    if (config != nullptr && !config->is_map()) {
      return report(config->origin(),
                    join_path(path, "config"),
                    code::kType,
                    text("value has the wrong type: expected map, got ",
                         describe_value(*config)));
    }
    Value merged = flavor_config(*component, out, path);
    merged.with_origin(given.origin());
    if (config != nullptr) {
      merged.with_origin(config->origin());
      merge_into(merged, *config, join_path(path, "config"), problems_);
    }
    ValidationScope inner = scope_;
    inner.default_origin = {Origin::Kind::kComponentDefault,
                            0,
                            0,
                            std::make_shared<const std::string>(component->id)};
    Validator checker(inner, problems_);
    out.set(
        "config",
        checker.check(
            component->schema, std::move(merged), join_path(path, "config")));
  }

  void report_component(const std::string& kind,
                        const Value& use,
                        const std::string& path) {
    const auto ids = scope_.registry->ids(kind);
    const std::string near = nearest(use.as_string(), ids);
    const std::string expected =
        ids.empty() ? text("a ", kind, " that a plugin offers, and none does")
                    : text("one of ", ids);
    report(use.origin(),
           join_path(path, "use"),
           code::kRange,
           text(kind,
                " is not known: expected ",
                expected,
                ", got ",
                quote(use.as_string()),
                ". ",
                near.empty() ? text("Is its plugin in plugins.search?")
                             : text("Did you mean ", near, '?')));
  }

  Value flavor_config(const Component& component,
                      const Value& chosen,
                      const std::string& path) {
    const Value* flavor = chosen.find("flavor");
    if (flavor == nullptr || !flavor->is_string()) return Value::empty_map();
    if (const Value* config = component.flavor(flavor->as_string()))
      return *config;
    std::vector<std::string> names;
    for (const auto& [name, config] : component.flavors) names.push_back(name);
    const std::string near = nearest(flavor->as_string(), names);
    report(flavor->origin(),
           join_path(path, "flavor"),
           code::kRange,
           text("flavor is not known: expected one of ",
                names,
                ", got ",
                quote(flavor->as_string()),
                near.empty() ? std::string(".")
                             : text(". Did you mean ", near, '?')));
    return Value::empty_map();
  }

  const ValidationScope& scope_;
  std::vector<Problem>& problems_;
  std::vector<std::string> all_paths_;
};

}  // namespace

Value validate(const Schema& schema,
               const Value& value,
               const std::string& path,
               const ValidationScope& scope,
               std::vector<Problem>& problems) {
  return Validator(scope, problems).check(schema, value, path);
}

void validate_partial(const Schema& schema,
                      const Value& value,
                      const std::string& path,
                      std::vector<Problem>& problems) {
  ValidationScope scope;
  scope.checks_required = false;
  validate(schema, value, path, scope, problems);
}

}  // namespace titan::config
