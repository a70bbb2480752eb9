// SPDX-License-Identifier: BSD-3-Clause
// The two directions of an error across the C boundary, seen from the host: an
// exception of ours becomes a titan_error (guard_call), a plugin's titan_error
// becomes an exception of ours (check_call). The mapping is the SDK's, so that
// both sides agree.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include <titan/sdk/error.hpp>

namespace titan::plugin {

using titan::detail::view;

/// Borrows: valid while `value` is.
inline titan_str abi_str(std::string_view value) {
  return titan::detail::str(value);
}

/// Runs `body`; an exception becomes its code and text in `error`.
template <typename Body>
int32_t guard_call(titan_error* error, Body&& body) noexcept {
  return titan::detail::guard(error, std::forward<Body>(body));
}

inline titan_error make_error() {
  titan_error error = {};
  error.struct_size = sizeof(titan_error);
  return error;
}

/// Throws what `code` stands for (docs/errors.md), 0 = returns. `where` names
/// plugin and function; a text that names its place itself is kept as it is.
inline void check_call(int32_t code,
                       const titan_error& error,
                       std::string_view where) {
  if (code == 0) return;
  const auto bounded = [](const char* field, std::size_t size) {
    return std::string_view(field, ::strnlen(field, size));
  };
  const auto message = bounded(error.message, sizeof(error.message));
  if (message.starts_with('[')) titan::throw_code(code, std::string(message));
  const auto origin = bounded(error.where, sizeof(error.where));
  titan::throw_code(
      code,
      text('[',
           where,
           "] ",
           origin,
           origin.empty() ? "" : ": ",
           message.empty() ? std::string_view("no text given") : message,
           " (code ",
           code,
           ')'));
}

}  // namespace titan::plugin
