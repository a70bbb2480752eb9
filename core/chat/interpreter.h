// SPDX-License-Identifier: BSD-3-Clause
// Walks the syntax tree of one template once. Statements are in
// interpreter.cpp, expressions in evaluate.cpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/chat/budget.h"
#include "core/chat/chat_template.h"
#include "core/chat/parser.h"
#include "core/chat/scope.h"
#include "core/chat/syntax.h"

namespace titan::chat {

class Interpreter {
 public:
  Interpreter(const Dict& variables, const RenderOptions& options);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  /// Throws Problem; position() says where.
  RenderedChat run(const ParsedTemplate& parsed);
  Position position() const { return at_; }

  /// What a macro's call does; see Macro.
  Value call_macro(const MacroForm& macro,
                   const ScopePointer& defined_in,
                   const CallArguments& arguments);

 private:
  enum class Flow { kNormal, kBreak, kContinue };

  Flow execute(const Body& body, const ScopePointer& scope);
  Flow execute(const Data& data, const ScopePointer& scope);
  Flow execute(const Print& print, const ScopePointer& scope);
  Flow execute(const If& form, const ScopePointer& scope);
  Flow execute(const For& form, const ScopePointer& scope);
  Flow execute(const Assign& form, const ScopePointer& scope);
  Flow execute(const AssignBlock& form, const ScopePointer& scope);
  Flow execute(const MacroDefinition& form, const ScopePointer& scope);
  Flow execute(const CallBlock& form, const ScopePointer& scope);
  Flow execute(const FilterBlock& form, const ScopePointer& scope);
  /// What a block writes, into `text` and not into the output.
  Flow capture(const Body& body, const ScopePointer& scope, std::string& text);
  Flow execute(const With& form, const ScopePointer& scope);
  Flow execute(const Generation& form, const ScopePointer& scope);
  Flow execute(const Break&, const ScopePointer&) { return Flow::kBreak; }
  Flow execute(const Continue&, const ScopePointer&) { return Flow::kContinue; }

  Value evaluate(const Expression& expression, const ScopePointer& scope);
  Value evaluate(const Literal& form, const ScopePointer& scope);
  Value evaluate(const Name& form, const ScopePointer& scope);
  Value evaluate(const SequenceLiteral& form, const ScopePointer& scope);
  Value evaluate(const DictLiteral& form, const ScopePointer& scope);
  Value evaluate(const Attribute& form, const ScopePointer& scope);
  Value evaluate(const Subscript& form, const ScopePointer& scope);
  Value evaluate(const SliceSubscript& form, const ScopePointer& scope);
  Value evaluate(const Call& form, const ScopePointer& scope);
  Value evaluate(const FilterCall& form, const ScopePointer& scope);
  Value evaluate(const TestCall& form, const ScopePointer& scope);
  Value evaluate(const Unary& form, const ScopePointer& scope);
  Value evaluate(const Binary& form, const ScopePointer& scope);
  Value evaluate(const Logical& form, const ScopePointer& scope);
  Value evaluate(const ComparisonChain& form, const ScopePointer& scope);
  Value evaluate(const Concatenation& form, const ScopePointer& scope);
  Value evaluate(const Conditional& form, const ScopePointer& scope);

  CallArguments evaluate(const ArgumentList& arguments,
                         const ScopePointer& scope);
  std::optional<int64_t> evaluate_bound(const ExpressionPointer& bound,
                                        const ScopePointer& scope);
  Value call(const Value& callee, const CallArguments& arguments);
  Value make_namespace(const CallArguments& arguments);
  void bind_parameters(const MacroForm& macro,
                       const CallArguments& arguments,
                       const ScopePointer& scope);
  Value make_macro(std::shared_ptr<const MacroForm> macro,
                   const ScopePointer& scope);
  Value apply_filters(const Expression& filters,
                      const ScopePointer& scope,
                      std::string text);
  std::shared_ptr<const List> select_items(const For& form,
                                           const Value& iterable,
                                           const ScopePointer& scope);
  void assign(const Target& target,
              const Value& value,
              const ScopePointer& scope);
  ScopePointer open_scope(const ScopePointer& parent);
  void append(std::string_view text);

  const Dict& variables_;
  Dict functions_;
  Budget budget_;
  Position at_;

  RenderedChat result_;
  std::string* out_ = nullptr;  // result_.text, or what a block captures.
  int generation_depth_ = 0;
  const std::string* block_text_ = nullptr;  // Input of a block's filters.

  // Own what could hold itself; emptied at the end.
  std::vector<std::shared_ptr<Namespace>> namespaces_;
  std::vector<ScopePointer> captured_scopes_;
};

}  // namespace titan::chat
