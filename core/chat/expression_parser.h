// SPDX-License-Identifier: BSD-3-Clause
// Tokens to expressions, with jinja2's grammar and precedence (its parser.py):
//   x if c else y;  or;  and;  not;  == != < <= > >= in;  + -;  ~;  * / // %;
//   **;  unary - +;  . [] ();  | is
#pragma once

#include "core/chat/syntax.h"
#include "core/chat/token_stream.h"

namespace titan::chat {

/// Deepest nesting of expressions and of blocks: real templates need about 20.
inline constexpr int kMaxSyntaxDepth = 150;

/// Counts how deep the parsers are in each other; SyntaxProblem beyond the
/// limit.
class SyntaxLevel {
 public:
  SyntaxLevel(int& depth, Position at);
  ~SyntaxLevel() { --depth_; }
  SyntaxLevel(const SyntaxLevel&) = delete;
  SyntaxLevel& operator=(const SyntaxLevel&) = delete;

 private:
  int& depth_;
};

/// All throw SyntaxProblem. An unknown filter or test is one.
class ExpressionParser {
 public:
  /// `stream` and `depth` are shared with the parser of statements.
  ExpressionParser(TokenStream& stream, int& depth)
      : stream_(stream), depth_(depth) {}

  ExpressionPointer parse_expression();
  /// Without `x if c else y`.
  ExpressionPointer parse_or();
  /// An expression, or several with commas between them.
  ExpressionPointer parse_tuple(bool with_conditional = true);
  /// `| filter | filter(...)`, with `input` at the start (may be null).
  ExpressionPointer parse_filters(ExpressionPointer input);
  /// `filter(...)`, without the bar.
  ExpressionPointer parse_filter(ExpressionPointer input);

 private:
  ExpressionPointer make(Position at,
                         decltype(Expression::form) form,
                         int inner_depth) const;
  ExpressionPointer parse_and();
  ExpressionPointer parse_not();
  ExpressionPointer parse_comparison();
  ExpressionPointer parse_sum();
  ExpressionPointer parse_concatenation();
  ExpressionPointer parse_product();
  ExpressionPointer parse_power();
  ExpressionPointer parse_unary(bool with_filters);
  ExpressionPointer parse_primary();
  ExpressionPointer parse_parenthesis();
  ExpressionPointer parse_list();
  ExpressionPointer parse_dict();
  ExpressionPointer parse_postfix(ExpressionPointer object);
  ExpressionPointer parse_attribute(ExpressionPointer object);
  ExpressionPointer parse_subscript(ExpressionPointer object);
  ExpressionPointer parse_slice(Position at,
                                ExpressionPointer object,
                                ExpressionPointer start);
  ExpressionPointer parse_call(ExpressionPointer callee);
  ExpressionPointer parse_filters_and_tests(ExpressionPointer input);
  ExpressionPointer parse_test(ExpressionPointer input);
  ArgumentList parse_arguments();
  void parse_argument(ArgumentList& arguments);
  std::string parse_dotted_name();
  bool is_test_argument() const;

  TokenStream& stream_;
  int& depth_;
};

}  // namespace titan::chat
