// SPDX-License-Identifier: BSD-3-Clause
// The syntax tree: what the parser makes and the interpreter walks. Immutable
// after parsing. Every node knows its place, for messages.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/chat/problem.h"
#include "core/chat/value.h"

namespace titan::chat {

struct Expression;
struct Filter;
struct ValueTest;
using ExpressionPointer = std::unique_ptr<const Expression>;
using Expressions = std::vector<ExpressionPointer>;

/// `*star` and `**double_star` are null where they are not given.
struct ArgumentList {
  Expressions positional;
  std::vector<std::pair<std::string, ExpressionPointer>> named;
  ExpressionPointer star;
  ExpressionPointer double_star;
};

struct Literal {
  Value value;
};
struct Name {
  std::string name;
};
struct SequenceLiteral {
  SequenceKind kind;
  Expressions items;
};
struct DictLiteral {
  std::vector<std::pair<ExpressionPointer, ExpressionPointer>> entries;
};
struct Attribute {
  ExpressionPointer object;
  std::string name;
};
struct Subscript {
  ExpressionPointer object;
  ExpressionPointer index;
};
/// Bounds are null where they are not given.
struct SliceSubscript {
  ExpressionPointer object;
  ExpressionPointer start;
  ExpressionPointer stop;
  ExpressionPointer step;
};
struct Call {
  ExpressionPointer callee;
  ArgumentList arguments;
};
/// `input` is null at the start of a block's filters: the block's text.
struct FilterCall {
  ExpressionPointer input;
  const Filter* filter;
  ArgumentList arguments;
};
struct TestCall {
  ExpressionPointer input;
  const ValueTest* test;
  ArgumentList arguments;
};
enum class UnaryOperator { kNot, kMinus, kPlus };
struct Unary {
  UnaryOperator op;
  ExpressionPointer operand;
};
enum class BinaryOperator {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower
};
struct Binary {
  BinaryOperator op;
  ExpressionPointer left;
  ExpressionPointer right;
};
struct Logical {
  bool is_and;
  ExpressionPointer left;
  ExpressionPointer right;
};
enum class Comparison {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn
};
/// a < b < c holds where every neighbouring pair does.
struct ComparisonChain {
  ExpressionPointer first;
  std::vector<std::pair<Comparison, ExpressionPointer>> rest;
};
struct Concatenation {
  Expressions parts;
};
/// `otherwise` may be null: undefined.
struct Conditional {
  ExpressionPointer condition;
  ExpressionPointer value;
  ExpressionPointer otherwise;
};

struct Expression {
  Position at;
  int depth = 1;  ///< Of the tree below.
  std::variant<Literal,
               Name,
               SequenceLiteral,
               DictLiteral,
               Attribute,
               Subscript,
               SliceSubscript,
               Call,
               FilterCall,
               TestCall,
               Unary,
               Binary,
               Logical,
               ComparisonChain,
               Concatenation,
               Conditional>
      form;
};

struct Statement;
using Body = std::vector<Statement>;

/// What is assigned to: a name, an attribute of a namespace, or several.
struct Target {
  Position at;
  std::string name;
  std::string attribute;      ///< Not empty: of the namespace `name`.
  std::vector<Target> parts;  ///< Not empty: unpacked, and no name.
};

struct Data {
  std::string text;
};
struct Print {
  ExpressionPointer value;
};
struct If {
  std::vector<std::pair<ExpressionPointer, Body>> branches;
  Body otherwise;
};
struct For {
  Target target;
  ExpressionPointer iterable;
  ExpressionPointer condition;  ///< May be null.
  Body body;
  Body otherwise;
};
struct Assign {
  Target target;
  ExpressionPointer value;
};
/// `filters` may be null.
struct AssignBlock {
  Target target;
  ExpressionPointer filters;
  Body body;
};
struct MacroForm {
  std::string name;
  std::vector<std::pair<std::string, ExpressionPointer>> parameters;
  Body body;
  bool takes_more_positional = false;  ///< Reads `varargs`.
  bool takes_more_named = false;       ///< Reads `kwargs`.
  bool takes_caller = false;
};
struct MacroDefinition {
  std::shared_ptr<const MacroForm> macro;
};
struct CallBlock {
  ExpressionPointer call;
  std::shared_ptr<const MacroForm> caller;
};
struct FilterBlock {
  ExpressionPointer filters;
  Body body;
};
struct With {
  std::vector<std::pair<Target, ExpressionPointer>> assignments;
  Body body;
};
/// `{% generation %}`: what the assistant says.
struct Generation {
  Body body;
};
struct Break {};
struct Continue {};

struct Statement {
  Position at;
  std::variant<Data,
               Print,
               If,
               For,
               Assign,
               AssignBlock,
               MacroDefinition,
               CallBlock,
               FilterBlock,
               With,
               Generation,
               Break,
               Continue>
      form;
};

}  // namespace titan::chat
