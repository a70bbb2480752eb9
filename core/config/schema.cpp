// SPDX-License-Identifier: BSD-3-Clause
// Reads schemas and refuses what it does not understand.
#include "core/config/schema.h"

#include <algorithm>
#include <array>
#include <limits>

#include <titan/error.h>

#include "core/config/path.h"
#include "core/config/problem.h"
#include "core/config/validate.h"

namespace titan::config {
namespace {

using Type = Value::Type;

class SchemaReader {
 public:
  explicit SchemaReader(const std::string& where) : where_(where) {}

  Schema read(const Value& json, const std::string& path) {
    if (!json.is_map()) refuse(path, "schema is not an object");
    Schema schema;
    for (const auto& entry : json.as_map()) {
      if (!read_shape(schema, entry, path) &&
          !read_bound(schema, entry, path) && !read_note(schema, entry, path))
        refuse(path, text("keyword is not supported: got ", quote(entry.key)));
    }
    check(schema, path);
    return schema;
  }

 private:
  [[noreturn]] void refuse(const std::string& path,
                           const std::string& what) const {
    throw UserError(text('[',
                         where_,
                         "] SCHEMA_INVALID (507) at ",
                         path.empty() ? std::string("the root") : path,
                         ": ",
                         what),
                    code::kSchemaInvalid);
  }

  bool read_shape(Schema& schema,
                  const Value::Entry& entry,
                  const std::string& path) {
    const std::string& key = entry.key;
    const Value& value = entry.value;
    if (key == "type") {
      schema.types = read_types(value, path);
    } else if (key == "properties") {
      expect(value.is_map(), path, key, "an object");
      for (const auto& property : value.as_map())
        schema.properties.push_back(
            {property.key,
             read(property.value, join_path(path, property.key))});
    } else if (key == "additionalProperties") {
      if (value.is_boolean()) {
        schema.allows_any_key = value.as_boolean();
      } else {
        schema.additional =
            std::make_shared<Schema>(read(value, join_path(path, "*")));
      }
    } else if (key == "items") {
      schema.items = std::make_shared<Schema>(read(value, path + "[]"));
    } else if (key == "oneOf") {
      expect(value.is_list(), path, key, "a list of schemas");
      for (const Value& option : value.as_list())
        schema.one_of.push_back(read(option, path));
    } else if (key == "required") {
      schema.required = read_strings(value, path, key);
    } else {
      return false;
    }
    return true;
  }

  bool read_bound(Schema& schema,
                  const Value::Entry& entry,
                  const std::string& path) {
    const std::string& key = entry.key;
    const Value& value = entry.value;
    const auto number = [&] {
      expect(value.is_number(), path, key, "a number");
      return value.as_number();
    };
    const auto count = [&] {
      expect(value.is_integer() && value.as_integer() >= 0,
             path,
             key,
             "a non-negative integer");
      return value.as_integer();
    };
    if (key == "default") {
      schema.default_value = value;
    } else if (key == "enum") {
      expect(value.is_list() && !value.as_list().empty(),
             path,
             key,
             "a list of values");
      schema.allowed = value.as_list();
    } else if (key == "minimum") {
      schema.minimum = number();
    } else if (key == "maximum") {
      schema.maximum = number();
    } else if (key == "exclusiveMinimum") {
      schema.exclusive_minimum = number();
    } else if (key == "exclusiveMaximum") {
      schema.exclusive_maximum = number();
    } else if (key == "minItems") {
      schema.min_items = count();
    } else if (key == "maxItems") {
      schema.max_items = count();
    } else {
      return false;
    }
    return true;
  }

  bool read_note(Schema& schema,
                 const Value::Entry& entry,
                 const std::string& path) {
    const std::string& key = entry.key;
    const auto string = [&] {
      expect(entry.value.is_string(), path, key, "a string");
      return entry.value.as_string();
    };
    if (key == "description") {
      schema.description = string();
    } else if (key == "format") {
      schema.format = string();
      expect_one_of(schema.format, {"path", "op_id", "sha256"}, path, key);
    } else if (key == "x-unit") {
      schema.unit = string();
    } else if (key == "x-group") {
      schema.group = string();
      expect_one_of(
          schema.group, {"behavior", "performance", "debug"}, path, key);
    } else if (key == "x-shorthand") {
      schema.shorthand = string();
    } else if (key == "x-component") {
      schema.component_kind = string();
    } else if (key == "x-refused") {
      expect(entry.value.is_map(), path, key, "an object of strings");
      for (const auto& item : entry.value.as_map()) {
        expect(item.value.is_string(), path, key, "an object of strings");
        schema.refused.emplace_back(item.key, item.value.as_string());
      }
    } else {
      // Words for people that check nothing anywhere.
      return key == "title" || key == "$comment" || key == "$schema" ||
             key == "examples";
    }
    return true;
  }

  void expect(bool holds,
              const std::string& path,
              const std::string& keyword,
              std::string_view expected) const {
    if (!holds)
      refuse(path, text(keyword, " has another form: expected ", expected));
  }

  void expect_one_of(const std::string& value,
                     const std::vector<std::string>& options,
                     const std::string& path,
                     const std::string& keyword) const {
    if (std::find(options.begin(), options.end(), value) == options.end())
      refuse(path,
             text(keyword,
                  " is not known: expected one of ",
                  options,
                  ", got ",
                  quote(value)));
  }

  std::vector<std::string> read_strings(const Value& value,
                                        const std::string& path,
                                        const std::string& keyword) const {
    expect(value.is_list(), path, keyword, "a list of strings");
    std::vector<std::string> out;
    for (const Value& item : value.as_list()) {
      expect(item.is_string(), path, keyword, "a list of strings");
      out.push_back(item.as_string());
    }
    return out;
  }

  std::vector<Type> read_types(const Value& value, const std::string& path) {
    if (value.is_string()) return {read_type(value.as_string(), path)};
    std::vector<Type> types;
    for (const std::string& name : read_strings(value, path, "type"))
      types.push_back(read_type(name, path));
    return types;
  }

  Type read_type(const std::string& name, const std::string& path) const {
    constexpr std::array<std::pair<std::string_view, Type>, 7> kTypes = {{
        {"null", Type::kNull},
        {"boolean", Type::kBoolean},
        {"integer", Type::kInteger},
        {"number", Type::kNumber},
        {"string", Type::kString},
        {"array", Type::kList},
        {"object", Type::kMap},
    }};
    for (const auto& [known, type] : kTypes) {
      if (known == name) return type;
    }
    refuse(path, text("type is not known: got ", quote(name)));
  }

  void check(const Schema& schema, const std::string& path) const {
    for (const std::string& name : schema.required) {
      if (schema.property(name) == nullptr)
        refuse(path, text("required names no property: got ", quote(name)));
    }
    if (!schema.shorthand.empty() &&
        schema.property(schema.shorthand) == nullptr)
      refuse(path, "x-shorthand names no property");
    if (schema.minimum.value_or(-std::numeric_limits<double>::infinity()) >
        schema.maximum.value_or(std::numeric_limits<double>::infinity()))
      refuse(path, "minimum is above maximum");
    if (!schema.default_value) return;
    std::vector<Problem> problems;
    validate_partial(schema, *schema.default_value, path, problems);
    if (!problems.empty())
      refuse(path, text("default breaks the schema: ", problems.front().what));
  }

  const std::string& where_;
};

std::string join_words(const std::vector<std::string>& words,
                       std::string_view separator) {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += separator;
    out += word;
  }
  return out;
}

void collect_keys(const Schema& schema,
                  const std::string& path,
                  std::vector<KeyDescription>& out) {
  const auto add = [&](const std::string& child, const Schema& inner) {
    out.push_back({child, &inner});
    collect_keys(inner, child, out);
  };
  for (const Property& property : schema.properties)
    add(join_path(path, property.name), property.schema);
  if (schema.additional) add(join_path(path, "*"), *schema.additional);
  if (schema.items && !schema.items->properties.empty())
    collect_keys(*schema.items, path + "[]", out);
  for (const Schema& option : schema.one_of) collect_keys(option, path, out);
}

}  // namespace

const Schema* Schema::property(std::string_view name) const {
  for (const Property& candidate : properties) {
    if (candidate.name == name) return &candidate.schema;
  }
  return nullptr;
}

bool Schema::allows(Value::Type type) const {
  if (!one_of.empty())
    return std::any_of(one_of.begin(), one_of.end(), [&](const Schema& s) {
      return s.allows(type);
    });
  return types.empty() ||
         std::find(types.begin(), types.end(), type) != types.end();
}

bool Schema::requires_key(std::string_view name) const {
  return std::find(required.begin(), required.end(), name) != required.end();
}

Schema parse_schema(std::string_view json, const std::string& where) {
  Value value;
  try {
    value = Value::from_json(json, where);
  } catch (const UserError& error) {
    throw UserError(error.what(), code::kSchemaInvalid);
  }
  return SchemaReader(where).read(value, "");
}

std::string describe_type(const Schema& schema) {
  std::vector<std::string> words;
  for (const Schema& option : schema.one_of) {
    const std::string word = describe_type(option);
    if (words.empty() || words.back() != word) words.push_back(word);
  }
  if (!schema.shorthand.empty()) words.push_back("string");
  for (const Type type : schema.types) {
    std::string word(type_name(type));
    if (type == Type::kList && schema.items && !schema.items->types.empty())
      word += text(" of ", describe_type(*schema.items));
    if (type == Type::kString && !schema.allowed.empty()) {
      std::vector<std::string> options;
      for (const Value& option : schema.allowed) {
        if (option.is_string()) options.push_back(option.as_string());
      }
      word = join_words(options, " | ");
    }
    if (type == Type::kString && schema.format == "path") word = "path";
    words.push_back(std::move(word));
  }
  return words.empty() ? "any" : join_words(words, " or ");
}

std::vector<KeyDescription> list_keys(const Schema& schema,
                                      const std::string& path) {
  std::vector<KeyDescription> out;
  collect_keys(schema, path, out);
  return out;
}

}  // namespace titan::config
