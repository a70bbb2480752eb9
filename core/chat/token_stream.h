// SPDX-License-Identifier: BSD-3-Clause
// The tokens of a template with a place to read from: what both parsers share.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/chat/lexer.h"

namespace titan::chat {

class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens)
      : tokens_(std::move(tokens)) {}

  /// The token `ahead` of the next one; the end repeats.
  const Token& peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  Position position() const { return peek().at; }
  size_t index() const { return at_; }
  const Token& token(size_t index) const { return tokens_[index]; }

  bool is(TokenKind kind) const { return peek().kind == kind; }
  bool is_name(std::string_view name, size_t ahead = 0) const {
    return peek(ahead).kind == TokenKind::kName && peek(ahead).text == name;
  }
  bool is_operator(std::string_view op, size_t ahead = 0) const {
    return peek(ahead).kind == TokenKind::kOperator && peek(ahead).text == op;
  }

  const Token& take() {
    const Token& token = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool skip_name(std::string_view name) {
    if (!is_name(name)) return false;
    take();
    return true;
  }
  bool skip_operator(std::string_view op) {
    if (!is_operator(op)) return false;
    take();
    return true;
  }
  void expect_operator(std::string_view op) {
    if (!skip_operator(op)) fail_expected(text('"', op, '"'));
  }
  std::string expect_name() {
    if (!is(TokenKind::kName)) fail_expected("a name");
    return take().text;
  }
  void expect(TokenKind kind, std::string_view what) {
    if (!is(kind)) fail_expected(what);
    take();
  }

  [[noreturn]] void fail_expected(std::string_view what) const {
    const std::string got = is(TokenKind::kEnd) ? "the end of the template"
                                                : text('"', peek().text, '"');
    throw SyntaxProblem(position(), text("expected ", what, ", got ", got));
  }

 private:
  std::vector<Token> tokens_;
  size_t at_ = 0;
};

}  // namespace titan::chat
