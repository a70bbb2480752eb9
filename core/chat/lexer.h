// SPDX-License-Identifier: BSD-3-Clause
// Template text to tokens, with the white space rules that transformers sets:
// trim_blocks (the newline behind a block tag or comment goes) and
// lstrip_blocks (so does the indentation before one), and their signs `-` and
// `+`. Follows jinja2's lexer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/chat/problem.h"

namespace titan::chat {

enum class TokenKind {
  kData,  ///< Text outside of tags.
  kPrintBegin,
  kPrintEnd,
  kBlockBegin,
  kBlockEnd,
  kName,
  kString,  ///< `text` is what it means, escapes resolved.
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;
  Position at;
};

/// Ends with a kEnd token. SyntaxProblem: an open tag, string or bracket, or a
/// character that no token begins with.
std::vector<Token> lex_template(std::string_view source);

}  // namespace titan::chat
