// SPDX-License-Identifier: BSD-3-Clause
// Template text to statements. Tags: for, if, set, macro, call, filter, with,
// print, raw, generation, break, continue. Templates cannot reach files, so
// include, import, extends and block are errors.
#pragma once

#include <string_view>

#include "core/chat/syntax.h"

namespace titan::chat {

struct ParsedTemplate {
  Body body;
  bool has_generation = false;  ///< There is a {% generation %} block.
};

/// Throws SyntaxProblem.
ParsedTemplate parse_template(std::string_view source);

}  // namespace titan::chat
