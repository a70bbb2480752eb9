// SPDX-License-Identifier: BSD-3-Clause
// How the parts of the template engine report what is wrong: without a place.
// The parser and the interpreter know the place and add it (chat_template.cpp
// makes a UserError of both).
#pragma once

#include <stdexcept>
#include <string>

#include <titan/text.h>

namespace titan::chat {

/// Line and column, in bytes, from 1.
struct Position {
  int line = 1;
  int column = 1;
};

/// A fault of the template, of its input, or of both together.
class Problem : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The same with its place; what the lexer and the parser throw.
class SyntaxProblem : public Problem {
 public:
  SyntaxProblem(Position at, const std::string& what)
      : Problem(what), position(at) {}
  Position position;
};

/// Throws Problem with the concatenated arguments.
template <typename... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  throw Problem(text(parts...));
}

}  // namespace titan::chat
