// SPDX-License-Identifier: BSD-3-Clause
// Errors across the boundary: exception -> titan_error on the way out,
// titan_error -> exception on the way in. The code is kept both ways, so a
// UserError stays a UserError through any number of crossings.
#pragma once

#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include <titan/abi.h>
#include <titan/error.h>

namespace titan {

/// Numbers of docs/errors.md that the SDK itself gives or tells apart.
inline constexpr int kInvalidArgument = 601;
inline constexpr int kUnsupported = 602;
inline constexpr int kOutOfMemory = 603;
inline constexpr int kDeviceFault = 604;
inline constexpr int kTimeout = 607;
inline constexpr int kException = 608;
inline constexpr int kTorchFault = 609;
inline constexpr int kCommunication = 610;
inline constexpr int kInternal = 611;

/// Throws the kind of error that `code` belongs to.
[[noreturn]] inline void throw_code(int code, const std::string& message) {
  switch (code) {
    case kOutOfMemory:
    case kDeviceFault:
    case kTimeout:
    case kCommunication:
      throw DeviceError(message, code);
    case kException:
    case kTorchFault:
    case kInternal:
      throw BugError(message, code);
    default:
      throw UserError(message, code);
  }
}

namespace detail {

inline std::string_view view(titan_str text) {
  return {text.data, text.size};
}

inline titan_str str(std::string_view text) {
  return {text.data(), text.size()};
}

/// A call into the host: `check(f(..., error))` with `HostError error`.
class HostError {
 public:
  HostError() {
    raw_.struct_size = sizeof(raw_);
    raw_.code = 0;
    raw_.where[0] = '\0';
    raw_.message[0] = '\0';
  }
  operator titan_error*() { return &raw_; }

  [[noreturn]] void raise(int code) const {
    throw_code(code, std::string(raw_.message));
  }

 private:
  titan_error raw_;
};

inline void check(int32_t code, const HostError& error) {
  if (code != 0) [[unlikely]]
    error.raise(code);
}

inline int32_t write_error(titan_error* out,
                           int code,
                           std::string_view message) {
  if (out == nullptr) return code;
  constexpr std::size_t kMost = sizeof(titan_error::message) - 1;
  const std::size_t size = message.size() < kMost ? message.size() : kMost;
  std::memcpy(out->message, message.data(), size);
  out->message[size] = '\0';
  out->code = code;
  return code;
}

/// To be called in a catch block: describes the exception in flight.
inline int32_t write_current_exception(titan_error* out) noexcept {
  const auto code_of = [](const Error& error, int otherwise) {
    return error.code() != 0 ? error.code() : otherwise;
  };
  try {
    throw;
  } catch (const UserError& error) {
    return write_error(out, code_of(error, kInvalidArgument), error.what());
  } catch (const DeviceError& error) {
    return write_error(out, code_of(error, kDeviceFault), error.what());
  } catch (const Error& error) {
    return write_error(out, code_of(error, kInternal), error.what());
  } catch (const std::bad_alloc&) {
    return write_error(out, kOutOfMemory, "out of memory");
  } catch (const std::exception& error) {
    return write_error(out, kException, error.what());
  } catch (...) {
    return write_error(out, kException, "exception of unknown type");
  }
}

/// Runs `body`; turns whatever it throws into `out` and a code.
template <typename Body>
int32_t guard(titan_error* out, Body&& body) noexcept {
  try {
    body();
    return 0;
  } catch (...) {
    return write_current_exception(out);
  }
}

}  // namespace detail
}  // namespace titan
