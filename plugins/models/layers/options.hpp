// SPDX-License-Identifier: BSD-3-Clause
// Options as a tree: by path, beside their defaults, and the refusal of those
// that other options leave without a reader.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <titan/sdk/config.hpp>

namespace titan::layers {

/// The option at "norm.eps", or null.
inline const Json* find_option(const Json& root, std::string_view path) {
  const size_t dot = path.find('.');
  const Json* const child = root.find(path.substr(0, dot));
  if (child == nullptr || dot == std::string_view::npos) return child;
  return find_option(*child, path.substr(dot + 1));
}

inline void set_option(Json& root, std::string_view path, const Json& value) {
  const size_t dot = path.find('.');
  Json& child = root[path.substr(0, dot)];
  if (dot == std::string_view::npos)
    child = value;
  else
    set_option(child, path.substr(dot + 1), value);
}

/// The default of an option in a schema; null where there is none.
inline Json default_of(const Json& schema, std::string_view path) {
  const size_t dot = path.find('.');
  const Json* const child = schema.at("properties").find(path.substr(0, dot));
  if (child == nullptr) return {};
  if (dot != std::string_view::npos)
    return default_of(*child, path.substr(dot + 1));
  const Json* const value = child->find("default");
  return value == nullptr ? Json() : *value;
}

/// 1 is 1.0.
inline bool is_equal(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) return a.f64() == b.f64();
  return a == b;
}

/// Calls visit(path, value) for `value` at `path`, or for each option in it
/// where it is a section of the schema.
template <typename Visit>
void each_option(const Json& value,
                 const std::string& path,
                 const Json& schema,
                 Visit visit) {
  const Json* const properties = schema.find("properties");
  if (properties == nullptr || !value.is_object()) return visit(path, value);
  for (const auto& [key, member] : value.members())
    if (const Json* const inner = properties->find(key))
      each_option(
          member, path.empty() ? key : text(path, '.', key), *inner, visit);
}

/// An option, or all of a section, and whether anything reads it.
struct Reader {
  std::string_view option;
  bool is_there;
  std::string_view otherwise;  // "without norm.kind layer"
};

/// Refuses options that were set to something and that nothing reads: their
/// writer expects an effect. At its default an option asks for nothing.
inline void check_readers(const Json& options,
                          std::string_view schema_text,
                          const std::vector<Reader>& readers) {
  const Json schema = Json::parse(schema_text);
  each_option(
      options, "", schema, [&](const std::string& path, const Json& value) {
        for (const Reader& reader : readers) {
          const bool is_of = path == reader.option ||
                             path.starts_with(text(reader.option, '.'));
          if (reader.is_there || !is_of) continue;
          const Json otherwise = default_of(schema, path);
          TITAN_USER_CHECK(is_equal(value, otherwise),
                           "[model.",
                           path,
                           "] has no effect ",
                           reader.otherwise,
                           ": expected its default ",
                           otherwise.dump(),
                           ", got ",
                           value.dump(),
                           ". Take it out, or set it to its default where a "
                           "flavor has it.");
        }
      });
}

}  // namespace titan::layers
