// SPDX-License-Identifier: BSD-3-Clause
#include "core/config/component_config.h"

#include <titan/error.h>

#include "core/plugin/abi_call.h"

namespace titan::config {
namespace {

using plugin::guard_call;
using plugin::view;

const ComponentConfig& config_of(const titan_config* config) {
  return *reinterpret_cast<const ComponentConfig*>(config);
}

void collect_unread(const Value& value,
                    const std::string& path,
                    const std::set<std::string, std::less<>>& read,
                    std::vector<std::string>& out) {
  if (read.count(path) != 0) return;
  if (value.is_map() && !value.as_map().empty()) {
    for (const auto& entry : value.as_map())
      collect_unread(entry.value,
                     path.empty() ? entry.key : text(path, '.', entry.key),
                     read,
                     out);
  } else if (value.origin().is_user()) {
    out.push_back(path);
  }
}

int32_t has(const titan_config* config, titan_str path) {
  const Value* found = config_of(config).find(view(path));
  return found != nullptr && !found->is_null() ? 1 : 0;
}

int32_t get_int(const titan_config* config,
                titan_str path,
                int64_t* out,
                titan_error* error) {
  return guard_call(error, [&] {
    const Value& value = config_of(config).require(view(path), "integer");
    TITAN_USER_CHECK(value.is_integer(),
                     "[",
                     view(path),
                     "] expected an integer, got ",
                     describe_value(value));
    *out = value.as_integer();
  });
}

int32_t get_double(const titan_config* config,
                   titan_str path,
                   double* out,
                   titan_error* error) {
  return guard_call(error, [&] {
    const Value& value = config_of(config).require(view(path), "number");
    TITAN_USER_CHECK(value.is_number(),
                     "[",
                     view(path),
                     "] expected a number, got ",
                     describe_value(value));
    *out = value.as_number();
  });
}

int32_t get_bool(const titan_config* config,
                 titan_str path,
                 int32_t* out,
                 titan_error* error) {
  return guard_call(error, [&] {
    const Value& value = config_of(config).require(view(path), "boolean");
    TITAN_USER_CHECK(value.is_boolean(),
                     "[",
                     view(path),
                     "] expected true or false, got ",
                     describe_value(value));
    *out = value.as_boolean() ? 1 : 0;
  });
}

int32_t get_string(const titan_config* config,
                   titan_str path,
                   titan_str* out,
                   titan_error* error) {
  return guard_call(error, [&] {
    const Value& value = config_of(config).require(view(path), "string");
    TITAN_USER_CHECK(value.is_string(),
                     "[",
                     view(path),
                     "] expected a string, got ",
                     describe_value(value));
    *out = plugin::abi_str(value.as_string());
  });
}

int32_t get_size(const titan_config* config,
                 titan_str path,
                 uint64_t* out,
                 titan_error* error) {
  return guard_call(error, [&] {
    const Value& value = config_of(config).require(view(path), "list or map");
    TITAN_USER_CHECK(value.is_list() || value.is_map(),
                     "[",
                     view(path),
                     "] expected a list or a map, got ",
                     describe_value(value));
    *out = value.is_list() ? value.as_list().size() : value.as_map().size();
  });
}

int32_t get_json(const titan_config* config,
                 titan_str path,
                 titan_str* out,
                 titan_error* error) {
  return guard_call(error, [&] {
    const ComponentConfig& self = config_of(config);
    const Value& value = self.require(view(path), "value");
    *out = plugin::abi_str(self.keep(value.to_json()));
  });
}

}  // namespace

ComponentConfig::ComponentConfig(Value value, std::string where)
    : value_(std::move(value)), where_(std::move(where)) {
  if (value_.is_null()) value_ = Value::empty_map();
}

void ComponentConfig::mark(std::string_view path) const {
  const std::lock_guard lock(mutex_);
  read_.emplace(path);
}

const Value* ComponentConfig::find(std::string_view path) const {
  mark(path);
  return path.empty() ? &value_ : value_.at_path(path);
}

const Value& ComponentConfig::require(std::string_view path,
                                      std::string_view expected) const {
  const Value* found = find(path);
  TITAN_USER_CHECK(found != nullptr && !found->is_null(),
                   "[",
                   where_,
                   '.',
                   path,
                   "] missing: expected a ",
                   expected,
                   ", got nothing");
  return *found;
}

std::string_view ComponentConfig::keep(std::string text) const {
  const std::lock_guard lock(mutex_);
  return *kept_.insert(std::move(text)).first;
}

std::vector<std::string> ComponentConfig::unread() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> paths;
  collect_unread(value_, "", read_, paths);
  for (std::string& path : paths) path = text(where_, '.', path);
  return paths;
}

const titan_config_api& config_api() {
  static const titan_config_api api = {
      .struct_size = sizeof(titan_config_api),
      .reserved = 0,
      .has = has,
      .get_int = get_int,
      .get_double = get_double,
      .get_bool = get_bool,
      .get_string = get_string,
      .get_size = get_size,
      .get_json = get_json,
  };
  return api;
}

}  // namespace titan::config
