// SPDX-License-Identifier: BSD-3-Clause
// `create` and `destroy` of every kind: a plugin class with a constructor that
// takes a Config (or nothing) behind an opaque handle.
#pragma once

#include <type_traits>

#include <titan/sdk/config.hpp>

namespace titan::detail {

template <typename Class>
Class& object(titan_object* self) {
  return *reinterpret_cast<Class*>(self);
}

template <typename Class>
const Class& object(const titan_object* self) {
  return *reinterpret_cast<const Class*>(self);
}

template <typename Class>
int32_t create_object(const titan_host_api* api,
                      const titan_config* config,
                      titan_object** out,
                      titan_error* error) noexcept {
  return guard(error, [&] {
    set_host(api);
    Class* made = nullptr;
    if constexpr (std::is_constructible_v<Class, const Config&>)
      made = new Class(Config(config));
    else
      made = new Class();
    *out = reinterpret_cast<titan_object*>(made);
  });
}

template <typename Class>
void destroy_object(titan_object* self) noexcept {
  delete reinterpret_cast<Class*>(self);
}

}  // namespace titan::detail
