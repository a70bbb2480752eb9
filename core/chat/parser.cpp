// SPDX-License-Identifier: BSD-3-Clause
#include "core/chat/parser.h"

#include <algorithm>
#include <initializer_list>

#include "core/chat/expression_parser.h"

namespace titan::chat {
namespace {

using Names = std::initializer_list<std::string_view>;

class Parser {
 public:
  explicit Parser(std::string_view source)
      : stream_(lex_template(source)), expressions_(stream_, depth_) {}

  ParsedTemplate run() {
    ParsedTemplate parsed;
    parsed.body = parse_body({});
    parsed.has_generation = has_generation_;
    return parsed;
  }

 private:
  bool is_one_of(Names names) const {
    return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
      return stream_.is_name(name, 1);
    });
  }

  // Statements up to `{% name` for one of `ends`; the stream stands on the name
  // then. Without `ends`: up to the end of the template.
  Body parse_body(Names ends) {
    const Position start = stream_.position();
    Body body;
    while (!stream_.is(TokenKind::kEnd)) {
      const Position at = stream_.position();
      if (stream_.is(TokenKind::kData)) {
        body.push_back({at, Data{stream_.take().text}});
      } else if (stream_.is(TokenKind::kPrintBegin)) {
        stream_.take();
        body.push_back({at, Print{expressions_.parse_tuple()}});
        stream_.expect(TokenKind::kPrintEnd, "\"}}\"");
      } else {
        if (is_one_of(ends)) {
          stream_.take();
          return body;
        }
        stream_.take();
        parse_statement(at, body);
        expect_block_end();
      }
    }
    if (ends.size() > 0)
      throw SyntaxProblem(
          start, text("the block has no end: expected ", *(ends.end() - 1)));
    return body;
  }

  void expect_block_end() {
    stream_.expect(TokenKind::kBlockEnd, "the end of the tag, \"%}\"");
  }

  // From behind a tag's expressions to its end tag's name, which is taken.
  Body parse_block(std::string_view end) {
    Body body = parse_open_block({end});
    stream_.take();
    return body;
  }
  Body parse_open_block(Names ends) {
    stream_.skip_operator(":");
    expect_block_end();
    const SyntaxLevel level(depth_, stream_.position());
    return parse_body(ends);
  }

  void parse_statement(Position at, Body& body) {
    const std::string tag = stream_.expect_name();
    if (tag == "if")
      body.push_back({at, parse_if()});
    else if (tag == "for")
      body.push_back({at, parse_for()});
    else if (tag == "set")
      body.push_back(parse_set(at));
    else if (tag == "macro")
      body.push_back({at, parse_macro()});
    else if (tag == "call")
      body.push_back({at, parse_call_block()});
    else if (tag == "filter")
      body.push_back({at, parse_filter_block()});
    else if (tag == "with")
      body.push_back({at, parse_with()});
    else if (tag == "generation")
      body.push_back({at, parse_generation()});
    else if (tag == "print")
      parse_print(at, body);
    else if (tag == "break" || tag == "continue")
      body.push_back(parse_jump(at, tag));
    else
      throw SyntaxProblem(at, text("there is no tag \"", tag, "\" here"));
  }

  If parse_if() {
    If form;
    while (true) {
      ExpressionPointer condition = expressions_.parse_tuple(false);
      Body body = parse_open_block({"elif", "else", "endif"});
      form.branches.emplace_back(std::move(condition), std::move(body));
      if (stream_.skip_name("elif")) continue;
      if (stream_.skip_name("else"))
        form.otherwise = parse_block("endif");
      else
        stream_.take();
      return form;
    }
  }

  For parse_for() {
    For form;
    form.target = parse_target(/*with_namespace=*/false);
    if (!stream_.skip_name("in")) stream_.fail_expected("\"in\"");
    form.iterable = expressions_.parse_tuple(false);
    if (stream_.skip_name("if"))
      form.condition = expressions_.parse_expression();
    if (stream_.is_name("recursive"))
      throw SyntaxProblem(stream_.position(),
                          "recursive loops are not supported. Write a macro");
    ++loops_;
    form.body = parse_open_block({"else", "endfor"});
    --loops_;
    if (stream_.skip_name("else"))
      form.otherwise = parse_block("endfor");
    else
      stream_.take();
    return form;
  }

  Statement parse_set(Position at) {
    Target target = parse_target(/*with_namespace=*/true);
    if (stream_.skip_operator("="))
      return {at, Assign{std::move(target), expressions_.parse_tuple()}};
    ExpressionPointer filters = expressions_.parse_filters(nullptr);
    Body body = parse_block("endset");
    return {
        at,
        AssignBlock{std::move(target), std::move(filters), std::move(body)}};
  }

  Target parse_one_target(bool with_namespace) {
    if (stream_.skip_operator("(")) {
      const SyntaxLevel level(depth_, stream_.position());
      Target inner = parse_target(with_namespace);
      stream_.expect_operator(")");
      return inner;
    }
    Target target;
    target.at = stream_.position();
    target.name = stream_.expect_name();
    for (const std::string_view constant :
         {"true", "false", "none", "True", "False", "None"})
      if (target.name == constant)
        throw SyntaxProblem(target.at,
                            text("nothing can be assigned to ", constant));
    if (with_namespace && stream_.skip_operator("."))
      target.attribute = stream_.expect_name();
    return target;
  }

  Target parse_target(bool with_namespace) {
    Target first = parse_one_target(with_namespace);
    if (!stream_.is_operator(",")) return first;
    Target all;
    all.at = first.at;
    all.parts.push_back(std::move(first));
    while (stream_.skip_operator(",")) {
      if (!stream_.is(TokenKind::kName) && !stream_.is_operator("(")) break;
      if (stream_.is_name("in")) break;
      all.parts.push_back(parse_one_target(with_namespace));
    }
    return all;
  }

  void parse_parameters(MacroForm& macro) {
    stream_.expect_operator("(");
    while (!stream_.is_operator(")")) {
      if (!macro.parameters.empty()) stream_.expect_operator(",");
      const Position at = stream_.position();
      std::string name = stream_.expect_name();
      ExpressionPointer otherwise;
      if (stream_.skip_operator("="))
        otherwise = expressions_.parse_expression();
      else if (!macro.parameters.empty() && macro.parameters.back().second)
        throw SyntaxProblem(at, "expected a default, as the one before has");
      macro.parameters.emplace_back(std::move(name), std::move(otherwise));
    }
    stream_.expect_operator(")");
  }

  // The body, and which of the special names it reads. A loop outside cannot
  // be left from inside.
  void parse_macro_body(std::string_view end, MacroForm& macro) {
    const size_t begin = stream_.index();
    const int outer_loops = std::exchange(loops_, 0);
    macro.body = parse_block(end);
    loops_ = outer_loops;
    for (size_t i = begin; i < stream_.index(); ++i) {
      const Token& token = stream_.token(i);
      if (token.kind != TokenKind::kName) continue;
      macro.takes_more_positional |= token.text == "varargs";
      macro.takes_more_named |= token.text == "kwargs";
      macro.takes_caller |= token.text == "caller";
    }
  }

  MacroDefinition parse_macro() {
    auto macro = std::make_shared<MacroForm>();
    macro->name = stream_.expect_name();
    parse_parameters(*macro);
    parse_macro_body("endmacro", *macro);
    return {std::move(macro)};
  }

  CallBlock parse_call_block() {
    auto caller = std::make_shared<MacroForm>();
    caller->name = "caller";
    if (stream_.is_operator("(")) parse_parameters(*caller);
    CallBlock form;
    form.call = expressions_.parse_expression();
    if (!std::holds_alternative<Call>(form.call->form))
      throw SyntaxProblem(form.call->at, "expected a call");
    parse_macro_body("endcall", *caller);
    form.caller = std::move(caller);
    return form;
  }

  FilterBlock parse_filter_block() {
    FilterBlock form;
    form.filters =
        expressions_.parse_filters(expressions_.parse_filter(nullptr));
    form.body = parse_block("endfilter");
    return form;
  }

  With parse_with() {
    With form;
    while (!stream_.is(TokenKind::kBlockEnd)) {
      if (!form.assignments.empty()) stream_.expect_operator(",");
      Target target = parse_one_target(/*with_namespace=*/false);
      stream_.expect_operator("=");
      form.assignments.emplace_back(std::move(target),
                                    expressions_.parse_expression());
    }
    form.body = parse_block("endwith");
    return form;
  }

  // Its variables are its own and loops outside cannot be left, as in
  // transformers, where the block is a call.
  Generation parse_generation() {
    has_generation_ = true;
    const int outer_loops = std::exchange(loops_, 0);
    Generation form{parse_block("endgeneration")};
    loops_ = outer_loops;
    return form;
  }

  void parse_print(Position at, Body& body) {
    bool is_first = true;
    while (!stream_.is(TokenKind::kBlockEnd)) {
      if (!is_first) stream_.expect_operator(",");
      is_first = false;
      body.push_back({at, Print{expressions_.parse_expression()}});
    }
  }

  Statement parse_jump(Position at, std::string_view tag) {
    if (loops_ == 0)
      throw SyntaxProblem(at, text('"', tag, "\" stands outside of a loop"));
    if (tag == "break") return {at, Break{}};
    return {at, Continue{}};
  }

  TokenStream stream_;
  int depth_ = 0;
  ExpressionParser expressions_;
  int loops_ = 0;
  bool has_generation_ = false;
};

}  // namespace

ParsedTemplate parse_template(std::string_view source) {
  return Parser(source).run();
}

}  // namespace titan::chat
