// SPDX-License-Identifier: BSD-3-Clause
#include "core/chat/expression_parser.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/chat/filters.h"
#include "core/chat/value_tests.h"

namespace titan::chat {
namespace {

int depth_of(const ExpressionPointer& expression) {
  return expression ? expression->depth : 0;
}

int depth_of(const Expressions& expressions) {
  int depth = 0;
  for (const ExpressionPointer& one : expressions)
    depth = std::max(depth, one->depth);
  return depth;
}

int depth_of(const ArgumentList& arguments) {
  int depth = std::max(
      depth_of(arguments.positional),
      std::max(depth_of(arguments.star), depth_of(arguments.double_star)));
  for (const auto& [name, value] : arguments.named)
    depth = std::max(depth, value->depth);
  return depth;
}

std::optional<Comparison> comparison_of(const Token& token) {
  if (token.kind != TokenKind::kOperator) return std::nullopt;
  if (token.text == "==") return Comparison::kEqual;
  if (token.text == "!=") return Comparison::kNotEqual;
  if (token.text == "<") return Comparison::kLess;
  if (token.text == "<=") return Comparison::kLessEqual;
  if (token.text == ">") return Comparison::kGreater;
  if (token.text == ">=") return Comparison::kGreaterEqual;
  return std::nullopt;
}

std::optional<BinaryOperator> product_of(const Token& token) {
  if (token.kind != TokenKind::kOperator) return std::nullopt;
  if (token.text == "*") return BinaryOperator::kMultiply;
  if (token.text == "/") return BinaryOperator::kDivide;
  if (token.text == "//") return BinaryOperator::kFloorDivide;
  if (token.text == "%") return BinaryOperator::kModulo;
  return std::nullopt;
}

Value number_of(const Token& token) {
  const char* first = token.text.data();
  const char* last = first + token.text.size();
  if (token.kind == TokenKind::kFloat) {
    double value = 0;
    if (std::from_chars(first, last, value).ec == std::errc()) return value;
  } else {
    int64_t value = 0;
    if (std::from_chars(first, last, value).ec == std::errc()) return value;
  }
  throw SyntaxProblem(token.at, text("the number is too large: ", token.text));
}

}  // namespace

SyntaxLevel::SyntaxLevel(int& depth, Position at) : depth_(depth) {
  if (depth_ >= kMaxSyntaxDepth)
    throw SyntaxProblem(at,
                        text("the template nests too deeply: expected at most ",
                             kMaxSyntaxDepth,
                             " levels"));
  ++depth_;
}

ExpressionPointer ExpressionParser::make(Position at,
                                         decltype(Expression::form) form,
                                         int inner_depth) const {
  // A chain such as a + b + ... nests in the tree, not in the parser.
  if (inner_depth >= kMaxSyntaxDepth)
    throw SyntaxProblem(at,
                        text("the expression is too long: expected at most ",
                             kMaxSyntaxDepth,
                             " operators in a row"));
  auto expression = std::make_unique<Expression>();
  expression->at = at;
  expression->depth = inner_depth + 1;
  expression->form = std::move(form);
  return expression;
}

ExpressionPointer ExpressionParser::parse_expression() {
  const SyntaxLevel level(depth_, stream_.position());
  ExpressionPointer value = parse_or();
  while (stream_.is_name("if")) {
    const Position at = stream_.take().at;
    Conditional form;
    form.condition = parse_or();
    if (stream_.skip_name("else")) form.otherwise = parse_expression();
    const int depth = std::max(
        {depth_of(value), depth_of(form.condition), depth_of(form.otherwise)});
    form.value = std::move(value);
    value = make(at, std::move(form), depth);
  }
  return value;
}

ExpressionPointer ExpressionParser::parse_or() {
  ExpressionPointer left = parse_and();
  while (stream_.is_name("or")) {
    const Position at = stream_.take().at;
    ExpressionPointer right = parse_and();
    const int depth = std::max(left->depth, right->depth);
    left = make(at, Logical{false, std::move(left), std::move(right)}, depth);
  }
  return left;
}

ExpressionPointer ExpressionParser::parse_and() {
  ExpressionPointer left = parse_not();
  while (stream_.is_name("and")) {
    const Position at = stream_.take().at;
    ExpressionPointer right = parse_not();
    const int depth = std::max(left->depth, right->depth);
    left = make(at, Logical{true, std::move(left), std::move(right)}, depth);
  }
  return left;
}

ExpressionPointer ExpressionParser::parse_not() {
  if (!stream_.is_name("not")) return parse_comparison();
  const SyntaxLevel level(depth_, stream_.position());
  const Position at = stream_.take().at;
  ExpressionPointer operand = parse_not();
  const int depth = operand->depth;
  return make(at, Unary{UnaryOperator::kNot, std::move(operand)}, depth);
}

ExpressionPointer ExpressionParser::parse_comparison() {
  const Position at = stream_.position();
  ComparisonChain chain;
  chain.first = parse_sum();
  int depth = chain.first->depth;
  while (true) {
    std::optional<Comparison> comparison = comparison_of(stream_.peek());
    if (stream_.is_name("in")) comparison = Comparison::kIn;
    if (stream_.is_name("not") && stream_.is_name("in", 1)) {
      comparison = Comparison::kNotIn;
      stream_.take();
    }
    if (!comparison) break;
    stream_.take();
    chain.rest.emplace_back(*comparison, parse_sum());
    depth = std::max(depth, chain.rest.back().second->depth);
  }
  if (chain.rest.empty()) return std::move(chain.first);
  return make(at, std::move(chain), depth);
}

ExpressionPointer ExpressionParser::parse_sum() {
  ExpressionPointer left = parse_concatenation();
  while (stream_.is_operator("+") || stream_.is_operator("-")) {
    const Token& token = stream_.take();
    const auto op =
        token.text == "+" ? BinaryOperator::kAdd : BinaryOperator::kSubtract;
    const Position at = token.at;
    ExpressionPointer right = parse_concatenation();
    const int depth = std::max(left->depth, right->depth);
    left = make(at, Binary{op, std::move(left), std::move(right)}, depth);
  }
  return left;
}

ExpressionPointer ExpressionParser::parse_concatenation() {
  const Position at = stream_.position();
  Concatenation all;
  all.parts.push_back(parse_product());
  while (stream_.skip_operator("~")) all.parts.push_back(parse_product());
  if (all.parts.size() == 1) return std::move(all.parts[0]);
  const int depth = depth_of(all.parts);
  return make(at, std::move(all), depth);
}

ExpressionPointer ExpressionParser::parse_product() {
  ExpressionPointer left = parse_power();
  while (const auto op = product_of(stream_.peek())) {
    const Position at = stream_.take().at;
    ExpressionPointer right = parse_power();
    const int depth = std::max(left->depth, right->depth);
    left = make(at, Binary{*op, std::move(left), std::move(right)}, depth);
  }
  return left;
}

ExpressionPointer ExpressionParser::parse_power() {
  ExpressionPointer left = parse_unary(/*with_filters=*/true);
  while (stream_.is_operator("**")) {
    const Position at = stream_.take().at;
    ExpressionPointer right = parse_unary(/*with_filters=*/true);
    const int depth = std::max(left->depth, right->depth);
    left =
        make(at,
             Binary{BinaryOperator::kPower, std::move(left), std::move(right)},
             depth);
  }
  return left;
}

ExpressionPointer ExpressionParser::parse_unary(bool with_filters) {
  ExpressionPointer value;
  if (stream_.is_operator("-") || stream_.is_operator("+")) {
    const SyntaxLevel level(depth_, stream_.position());
    const Token& token = stream_.take();
    const Position at = token.at;
    const auto op =
        token.text == "-" ? UnaryOperator::kMinus : UnaryOperator::kPlus;
    ExpressionPointer operand = parse_unary(/*with_filters=*/false);
    const int depth = operand->depth;
    value = make(at, Unary{op, std::move(operand)}, depth);
  } else {
    value = parse_primary();
  }
  value = parse_postfix(std::move(value));
  return with_filters ? parse_filters_and_tests(std::move(value))
                      : std::move(value);
}

ExpressionPointer ExpressionParser::parse_primary() {
  const Token token = stream_.peek();
  if (stream_.is_operator("(")) return parse_parenthesis();
  if (stream_.is_operator("[")) return parse_list();
  if (stream_.is_operator("{")) return parse_dict();
  const auto literal = [&](Value value) {
    return make(token.at, Literal{std::move(value)}, 0);
  };
  switch (token.kind) {
    case TokenKind::kName:
      stream_.take();
      if (token.text == "true" || token.text == "True") return literal(true);
      if (token.text == "false" || token.text == "False") return literal(false);
      if (token.text == "none" || token.text == "None") return literal({});
      return make(token.at, Name{token.text}, 0);
    case TokenKind::kString: {
      std::string all;
      while (stream_.is(TokenKind::kString)) all += stream_.take().text;
      return literal(std::move(all));
    }
    case TokenKind::kInteger:
    case TokenKind::kFloat:
      stream_.take();
      return literal(number_of(token));
    default:
      stream_.fail_expected("an expression");
  }
}

ExpressionPointer ExpressionParser::parse_parenthesis() {
  const Position at = stream_.take().at;
  if (stream_.skip_operator(")"))
    return make(at, SequenceLiteral{SequenceKind::kTuple, {}}, 0);
  ExpressionPointer inner = parse_tuple();
  stream_.expect_operator(")");
  return inner;
}

ExpressionPointer ExpressionParser::parse_tuple(bool with_conditional) {
  const Position at = stream_.position();
  const auto parse = [&] {
    return with_conditional ? parse_expression() : parse_or();
  };
  Expressions items;
  items.push_back(parse());
  if (!stream_.is_operator(",")) return std::move(items[0]);
  while (stream_.skip_operator(",")) {
    // A comma may also end the tuple.
    if (stream_.is_operator(")") || stream_.is(TokenKind::kBlockEnd) ||
        stream_.is(TokenKind::kPrintEnd))
      break;
    items.push_back(parse());
  }
  const int depth = depth_of(items);
  return make(
      at, SequenceLiteral{SequenceKind::kTuple, std::move(items)}, depth);
}

ExpressionPointer ExpressionParser::parse_list() {
  const Position at = stream_.take().at;
  Expressions items;
  while (!stream_.is_operator("]")) {
    if (!items.empty()) stream_.expect_operator(",");
    if (stream_.is_operator("]")) break;
    items.push_back(parse_expression());
  }
  stream_.expect_operator("]");
  const int depth = depth_of(items);
  return make(
      at, SequenceLiteral{SequenceKind::kList, std::move(items)}, depth);
}

ExpressionPointer ExpressionParser::parse_dict() {
  const Position at = stream_.take().at;
  DictLiteral dict;
  int depth = 0;
  while (!stream_.is_operator("}")) {
    if (!dict.entries.empty()) stream_.expect_operator(",");
    if (stream_.is_operator("}")) break;
    ExpressionPointer key = parse_expression();
    stream_.expect_operator(":");
    ExpressionPointer value = parse_expression();
    depth = std::max({depth, key->depth, value->depth});
    dict.entries.emplace_back(std::move(key), std::move(value));
  }
  stream_.expect_operator("}");
  return make(at, std::move(dict), depth);
}

ExpressionPointer ExpressionParser::parse_postfix(ExpressionPointer object) {
  while (true) {
    if (stream_.is_operator("."))
      object = parse_attribute(std::move(object));
    else if (stream_.is_operator("["))
      object = parse_subscript(std::move(object));
    else if (stream_.is_operator("("))
      object = parse_call(std::move(object));
    else
      return object;
  }
}

ExpressionPointer ExpressionParser::parse_attribute(ExpressionPointer object) {
  stream_.take();
  const Token& token = stream_.peek();
  const Position at = token.at;
  const int depth = object->depth;
  if (token.kind == TokenKind::kInteger) {
    ExpressionPointer index = make(at, Literal{number_of(stream_.take())}, 0);
    return make(at, Subscript{std::move(object), std::move(index)}, depth);
  }
  std::string name = stream_.expect_name();
  return make(at, Attribute{std::move(object), std::move(name)}, depth);
}

ExpressionPointer ExpressionParser::parse_subscript(ExpressionPointer object) {
  const Position at = stream_.take().at;
  ExpressionPointer index;
  if (!stream_.is_operator(":")) index = parse_expression();
  if (stream_.is_operator(":"))
    return parse_slice(at, std::move(object), std::move(index));
  stream_.expect_operator("]");
  const int depth = std::max(object->depth, index->depth);
  return make(at, Subscript{std::move(object), std::move(index)}, depth);
}

ExpressionPointer ExpressionParser::parse_slice(Position at,
                                                ExpressionPointer object,
                                                ExpressionPointer start) {
  const auto is_end = [&] {
    return stream_.is_operator(":") || stream_.is_operator("]");
  };
  SliceSubscript slice{std::move(object), std::move(start), {}, {}};
  stream_.expect_operator(":");
  if (!is_end()) slice.stop = parse_expression();
  if (stream_.skip_operator(":") && !is_end()) slice.step = parse_expression();
  stream_.expect_operator("]");
  const int depth = std::max({depth_of(slice.object),
                              depth_of(slice.start),
                              depth_of(slice.stop),
                              depth_of(slice.step)});
  return make(at, std::move(slice), depth);
}

ExpressionPointer ExpressionParser::parse_call(ExpressionPointer callee) {
  const Position at = callee->at;
  Call call;
  call.arguments = parse_arguments();
  const int depth = std::max(callee->depth, depth_of(call.arguments));
  call.callee = std::move(callee);
  return make(at, std::move(call), depth);
}

ArgumentList ExpressionParser::parse_arguments() {
  ArgumentList arguments;
  stream_.expect_operator("(");
  bool is_first = true;
  while (!stream_.is_operator(")")) {
    if (!is_first) stream_.expect_operator(",");
    is_first = false;
    if (stream_.is_operator(")")) break;
    parse_argument(arguments);
  }
  stream_.expect_operator(")");
  return arguments;
}

void ExpressionParser::parse_argument(ArgumentList& arguments) {
  const Position at = stream_.position();
  const auto require = [&](bool is_in_order) {
    if (!is_in_order)
      throw SyntaxProblem(at,
                          "expected arguments in the order: positional, named, "
                          "*list, **dict");
  };
  require(!arguments.double_star);
  if (stream_.skip_operator("*")) {
    require(!arguments.star);
    arguments.star = parse_expression();
  } else if (stream_.skip_operator("**")) {
    arguments.double_star = parse_expression();
  } else if (stream_.is(TokenKind::kName) && stream_.is_operator("=", 1)) {
    std::string name = stream_.expect_name();
    stream_.take();
    arguments.named.emplace_back(std::move(name), parse_expression());
  } else {
    require(!arguments.star && arguments.named.empty());
    arguments.positional.push_back(parse_expression());
  }
}

ExpressionPointer ExpressionParser::parse_filters_and_tests(
    ExpressionPointer input) {
  while (true) {
    if (stream_.skip_operator("|"))
      input = parse_filter(std::move(input));
    else if (stream_.is_name("is"))
      input = parse_test(std::move(input));
    else if (stream_.is_operator("("))
      input = parse_call(std::move(input));
    else
      return input;
  }
}

ExpressionPointer ExpressionParser::parse_filters(ExpressionPointer input) {
  while (stream_.skip_operator("|")) input = parse_filter(std::move(input));
  return input;
}

std::string ExpressionParser::parse_dotted_name() {
  std::string name = stream_.expect_name();
  while (stream_.skip_operator(".")) name += '.' + stream_.expect_name();
  return name;
}

ExpressionPointer ExpressionParser::parse_filter(ExpressionPointer input) {
  const Position at = stream_.position();
  const std::string name = parse_dotted_name();
  FilterCall call;
  call.filter = find_filter(name);
  if (!call.filter)
    throw SyntaxProblem(at, text("there is no filter \"", name, '"'));
  if (stream_.is_operator("(")) call.arguments = parse_arguments();
  const int depth = std::max(depth_of(input), depth_of(call.arguments));
  call.input = std::move(input);
  return make(at, std::move(call), depth);
}

// `is divisibleby 3`: what may follow a test's name without a parenthesis.
bool ExpressionParser::is_test_argument() const {
  switch (stream_.peek().kind) {
    case TokenKind::kName:
      return !stream_.is_name("else") && !stream_.is_name("or") &&
             !stream_.is_name("and");
    case TokenKind::kString:
    case TokenKind::kInteger:
    case TokenKind::kFloat:
      return true;
    default:
      return stream_.is_operator("[") || stream_.is_operator("{");
  }
}

ExpressionPointer ExpressionParser::parse_test(ExpressionPointer input) {
  stream_.take();
  const bool is_negated = stream_.skip_name("not");
  const Position at = stream_.position();
  const std::string name = parse_dotted_name();
  TestCall call;
  call.test = find_test(name);
  if (!call.test)
    throw SyntaxProblem(at, text("there is no test \"", name, '"'));
  if (stream_.is_operator("(")) {
    call.arguments = parse_arguments();
  } else if (is_test_argument()) {
    if (stream_.is_name("is"))
      throw SyntaxProblem(stream_.position(), "tests cannot follow each other");
    const SyntaxLevel level(depth_, stream_.position());
    call.arguments.positional.push_back(parse_postfix(parse_primary()));
  }
  const int depth = std::max(depth_of(input), depth_of(call.arguments));
  call.input = std::move(input);
  ExpressionPointer result = make(at, std::move(call), depth);
  if (!is_negated) return result;
  return make(at, Unary{UnaryOperator::kNot, std::move(result)}, depth + 1);
}

}  // namespace titan::chat
