// SPDX-License-Identifier: BSD-3-Clause
#include "core/config/print.h"

#include <algorithm>

#include "core/config/path.h"
#include "core/config/reference.h"
#include "core/config/scalar.h"
#include "core/config/suggest.h"

namespace titan::config {
namespace {

// Longer lists get a line per item.
constexpr std::size_t kMaxInlineBytes = 72;

bool is_plain(const std::string& text) {
  const auto is_safe = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_' || c == '/' || c == '.' ||
           c == '-';
  };
  if (text.empty() || text[0] == '-' || text[0] == '.' ||
      !std::all_of(text.begin(), text.end(), is_safe))
    return false;
  try {
    return resolve_plain_scalar(text, {}).is_string();
  } catch (const UserError&) {
    return false;  // a number that cannot be held: text only in quotes
  }
}

std::string string_text(const std::string& text) {
  if (is_plain(text)) return text;
  std::string quoted = quote(text);
  // JSON leaves DEL as it is, YAML text may not hold it.
  for (auto at = quoted.find('\x7f'); at != quoted.npos;
       at = quoted.find('\x7f', at))
    quoted.replace(at, 1, "\\u007f");
  return quoted;
}

std::string flow_text(const Value& value) {
  if (value.is_string()) return string_text(value.as_string());
  std::string out;
  const char* separator = "";
  if (value.is_list()) {
    for (const Value& item : value.as_list()) {
      out += separator + flow_text(item);
      separator = ", ";
    }
    return text('[', out, ']');
  }
  if (!value.is_map()) return value.to_json();
  for (const auto& entry : value.as_map()) {
    out +=
        text(separator, string_text(entry.key), ": ", flow_text(entry.value));
    separator = ", ";
  }
  return text('{', out, '}');
}

bool is_inline(const Value& value) {
  if (value.is_map()) return value.as_map().empty();
  return !value.is_list() || flow_text(value).size() <= kMaxInlineBytes;
}

class YamlWriter {
 public:
  explicit YamlWriter(bool with_origins) : with_origins_(with_origins) {}

  std::string run(const Value& value) {
    write(value, 0);
    return std::move(out_);
  }

 private:
  void write(const Value& value, std::size_t indent) {
    if (is_inline(value)) {
      out_.append(indent, ' ');
      write_inline(value);
    } else if (value.is_map()) {
      for (const auto& entry : value.as_map())
        write_item(string_text(entry.key) + ":", entry.value, indent);
    } else {
      for (const Value& item : value.as_list()) write_item("-", item, indent);
    }
  }

  void write_item(const std::string& head,
                  const Value& value,
                  std::size_t indent) {
    out_.append(indent, ' ').append(head);
    if (is_inline(value)) {
      out_.push_back(' ');
      write_inline(value);
    } else {
      out_.push_back('\n');
      write(value, indent + 2);
    }
  }

  void write_inline(const Value& value) {
    out_ += flow_text(value);
    if (with_origins_) out_ += "  # " + value.origin().describe();
    out_.push_back('\n');
  }

  bool with_origins_;
  std::string out_;
};

const Schema* step_down(const Schema& schema, const PathStep& step) {
  if (step.index >= 0) return schema.items.get();
  const Schema* inner = schema.property(step.key);
  return inner != nullptr ? inner : schema.additional.get();
}

UserError unknown_key(const SchemaRegistry& registry, const std::string& path) {
  std::vector<std::string> keys;
  for (const KeyDescription& key : list_keys(registry.root()))
    keys.push_back(key.path);
  const std::string near = nearest(path, keys);
  return UserError(
      text('[',
           path,
           "] unknown key: expected a key of a recipe.",
           near.empty() ? std::string() : text(" Did you mean ", near, '?')),
      code::kUnknownKey);
}

}  // namespace

std::string to_yaml(const Value& value, bool with_origins) {
  return YamlWriter(with_origins).run(value);
}

const Schema* find_schema(const SchemaRegistry& registry,
                          const Value& root,
                          const std::string& path) {
  const Schema* at = &registry.root();
  const Schema* component_schema = nullptr;
  for (const PathStep& step : parse_path(path)) {
    if (component_schema != nullptr && step.key == "config") {
      at = component_schema;
      component_schema = nullptr;
      continue;
    }
    at = step_down(*at, step);
    if (at == nullptr) return nullptr;
    component_schema = nullptr;
    if (at->component_kind.empty()) continue;
    const Value* use = root.at_path(join_path(step.key, "use"));
    if (use == nullptr || !use->is_string()) continue;
    const Component* component =
        registry.find(at->component_kind, use->as_string());
    if (component != nullptr) component_schema = &component->schema;
  }
  return at;
}

std::string explain_key(const Recipe& recipe,
                        const SchemaRegistry& registry,
                        const std::string& path) {
  const Schema* schema = find_schema(registry, recipe.root(), path);
  if (schema == nullptr) throw unknown_key(registry, path);
  std::string out = path + "\n";
  const auto line = [&](std::string_view label, const std::string& content) {
    if (!content.empty())
      out +=
          text("  ", label, std::string(9 - label.size(), ' '), content, '\n');
  };
  if (const Value* value = recipe.root().at_path(path)) {
    line("value", flow_text(*value));
    line("from", value->origin().describe());
  } else {
    line("value", "not set");
  }
  line("type", describe_type(*schema));
  line("unit", schema->unit);
  line("range", describe_range(*schema));
  if (schema->default_value) line("default", flow_text(*schema->default_value));
  line("meaning", schema->description);
  return out;
}

}  // namespace titan::config
