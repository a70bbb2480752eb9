// SPDX-License-Identifier: BSD-3-Clause
// The two directions of an error across the C boundary: an exception of ours
// becomes a titan_error (guard_call), a plugin's titan_error becomes an
// exception of ours (check_call).
#pragma once

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include <titan/abi.h>
#include <titan/error.h>

namespace titan::plugin {

// Runtime codes of docs/errors.md that this file produces.
inline constexpr int kInvalidArgument = 601;
inline constexpr int kOutOfMemory = 603;
inline constexpr int kDevice = 604;
inline constexpr int kException = 608;
inline constexpr int kInternal = 611;

inline std::string_view view(titan_str value) {
  return {value.data, static_cast<size_t>(value.size)};
}

/// Borrows: valid while `value` is.
inline titan_str abi_str(std::string_view value) {
  return {value.data(), value.size()};
}

inline int32_t fill_error(titan_error* error, int code, std::string_view text) {
  if (error != nullptr) {
    error->code = code;
    const size_t size = std::min(text.size(), sizeof(error->message) - 1);
    std::memcpy(error->message, text.data(), size);
    error->message[size] = '\0';
  }
  return code;
}

/// Runs `body`; an exception becomes its code and text in `error`.
template <typename Body>
int32_t guard_call(titan_error* error, Body&& body) noexcept {
  try {
    body();
    return 0;
  } catch (const UserError& caught) {
    return fill_error(error,
                      caught.code() != 0 ? caught.code() : kInvalidArgument,
                      caught.what());
  } catch (const DeviceError& caught) {
    return fill_error(
        error, caught.code() != 0 ? caught.code() : kDevice, caught.what());
  } catch (const Error& caught) {
    return fill_error(
        error, caught.code() != 0 ? caught.code() : kInternal, caught.what());
  } catch (const std::bad_alloc& caught) {
    return fill_error(error, kOutOfMemory, caught.what());
  } catch (const std::exception& caught) {
    return fill_error(error, kException, caught.what());
  } catch (...) {
    return fill_error(error, kException, "an exception without text");
  }
}

inline titan_error make_error() {
  titan_error error = {};
  error.struct_size = sizeof(titan_error);
  return error;
}

/// Throws what `code` stands for: 601 a UserError, 604 and 610 a DeviceError,
/// anything else a BugError. `where` names plugin and function.
inline void check_call(int32_t code,
                       const titan_error& error,
                       std::string_view where) {
  if (code == 0) return;
  const std::string message =
      error.message[0] == '['
          ? std::string(error.message)
          : text('[',
                 where,
                 "] ",
                 error.message[0] != '\0' ? error.message : "no text given",
                 " (code ",
                 code,
                 ")");
  if (code == kInvalidArgument || (code >= 500 && code < 600))
    throw UserError(message, code);
  if (code == kDevice || code == 610) throw DeviceError(message, code);
  throw BugError(message, code);
}

}  // namespace titan::plugin
