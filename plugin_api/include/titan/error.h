// SPDX-License-Identifier: BSD-3-Clause
// The three kinds of error, by who must act on them:
//   UserError    the person with the recipe       exit 2
//   BugError     us                               exit 70
//   DeviceError  the operator or the launcher     exit 75 (may be restarted)
// Text: "[where] what: expected X, got Y. Fix." Static words first, values
// last.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include <titan/text.h>

namespace titan {

/// Base of Titan's errors. `code` is a number of the taxonomy in
/// docs/errors.md (0: none); it crosses the plugin boundary unchanged.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, int code = 0)
      : std::runtime_error(message), code_(code) {}
  int code() const { return code_; }

 private:
  int code_;
};

class UserError : public Error {
 public:
  using Error::Error;
};

class BugError : public Error {
 public:
  using Error::Error;
};

class DeviceError : public Error {
 public:
  using Error::Error;
};

namespace detail {

[[noreturn]] inline void throw_bug(const char* file,
                                   int line,
                                   const char* expression,
                                   const std::string& message) {
  throw BugError(text(message, " [", expression, " at ", file, ':', line, ']'));
}

}  // namespace detail
}  // namespace titan

/// Throws UserError with the concatenated arguments unless `condition` holds.
#define TITAN_USER_CHECK(condition, ...)                    \
  do {                                                      \
    if (!(condition)) [[unlikely]]                          \
      throw ::titan::UserError(::titan::text(__VA_ARGS__)); \
  } while (false)

/// Throws BugError: for what no input can cause.
#define TITAN_CHECK(condition, ...)                                    \
  do {                                                                 \
    if (!(condition)) [[unlikely]]                                     \
      ::titan::detail::throw_bug(                                      \
          __FILE__, __LINE__, #condition, ::titan::text(__VA_ARGS__)); \
  } while (false)

/// TITAN_CHECK(a == b) that prints both values.
#define TITAN_CHECK_EQ(a, b, ...)         \
  TITAN_CHECK((a) == (b),                 \
              ::titan::text(__VA_ARGS__), \
              ": expected ",              \
              (b),                        \
              ", got ",                   \
              (a))
