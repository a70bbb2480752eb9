// SPDX-License-Identifier: BSD-3-Clause
// The interpreter's half for expressions. `at_` is the place of a fault: set on
// the way in, and again before an operation that may fail.
#include "core/chat/access.h"
#include "core/chat/filters.h"
#include "core/chat/interpreter.h"
#include "core/chat/operators.h"
#include "core/chat/python_text.h"
#include "core/chat/value_tests.h"

namespace titan::chat {

Value Interpreter::evaluate(const Expression& expression,
                            const ScopePointer& scope) {
  const Budget::Level level(budget_);
  at_ = expression.at;
  return std::visit([&](const auto& form) { return evaluate(form, scope); },
                    expression.form);
}

Value Interpreter::evaluate(const Literal& form, const ScopePointer&) {
  return form.value;
}

Value Interpreter::evaluate(const Name& form, const ScopePointer& scope) {
  if (const Value* value = scope->find(form.name)) return *value;
  if (const Value* value = variables_.find_name(form.name)) return *value;
  if (const Value* value = functions_.find_name(form.name)) return *value;
  return Value::undefined(text("'", form.name, "' is undefined"));
}

Value Interpreter::evaluate(const SequenceLiteral& form,
                            const ScopePointer& scope) {
  List items;
  for (const ExpressionPointer& item : form.items)
    items.push_back(evaluate(*item, scope));
  budget_.charge_items(items.size());
  return Value::sequence(std::move(items), form.kind);
}

Value Interpreter::evaluate(const DictLiteral& form,
                            const ScopePointer& scope) {
  Dict dict;
  for (const auto& [key, value] : form.entries) {
    Value known = evaluate(*key, scope);
    dict.set(std::move(known), evaluate(*value, scope));
  }
  budget_.charge_items(dict.size());
  return dict;
}

Value Interpreter::evaluate(const Attribute& form, const ScopePointer& scope) {
  const Position at = at_;
  const Value object = evaluate(*form.object, scope);
  at_ = at;
  return get_attribute(object, form.name);
}

Value Interpreter::evaluate(const Subscript& form, const ScopePointer& scope) {
  const Position at = at_;
  const Value object = evaluate(*form.object, scope);
  const Value index = evaluate(*form.index, scope);
  at_ = at;
  return get_item(object, index);
}

std::optional<int64_t> Interpreter::evaluate_bound(
    const ExpressionPointer& bound,
    const ScopePointer& scope) {
  if (!bound) return std::nullopt;
  const Value value = evaluate(*bound, scope);
  if (value.is_none()) return std::nullopt;
  if (!value.is_integer() && !value.is_boolean())
    fail("a slice goes between integers, got a ", value.type_name());
  return value.integer();
}

Value Interpreter::evaluate(const SliceSubscript& form,
                            const ScopePointer& scope) {
  const Position at = at_;
  const Value object = evaluate(*form.object, scope);
  Slice slice;
  slice.start = evaluate_bound(form.start, scope);
  slice.stop = evaluate_bound(form.stop, scope);
  slice.step = evaluate_bound(form.step, scope);
  at_ = at;
  return get_slice(object, slice, budget_);
}

CallArguments Interpreter::evaluate(const ArgumentList& arguments,
                                    const ScopePointer& scope) {
  CallArguments values;
  for (const ExpressionPointer& one : arguments.positional)
    values.positional.push_back(evaluate(*one, scope));
  for (const auto& [name, one] : arguments.named)
    values.named.emplace_back(name, evaluate(*one, scope));
  if (arguments.star) {
    const Value more = evaluate(*arguments.star, scope);
    for (const Value& item : iterate(more, budget_))
      values.positional.push_back(item);
  }
  if (!arguments.double_star) return values;
  const Value more = evaluate(*arguments.double_star, scope);
  if (!more.is_mapping()) fail("**: expected a dict, got a ", more.type_name());
  for (const auto& [key, item] : more.dict().entries()) {
    if (!key.is_string()) fail("**: expected strings as keys");
    values.named.emplace_back(key.string(), item);
  }
  budget_.charge_items(values.positional.size() + values.named.size());
  return values;
}

Value Interpreter::call(const Value& callee, const CallArguments& arguments) {
  if (callee.is_undefined()) fail(callee.undefined_text());
  if (!callee.is_object() || !callee.object()->is_callable())
    fail("a ", callee.type_name(), " cannot be called");
  budget_.step();
  return callee.object()->call(arguments, budget_);
}

Value Interpreter::make_namespace(const CallArguments& arguments) {
  auto made = std::make_shared<Namespace>();
  if (arguments.positional.size() > 1)
    fail("namespace: expected one dict, and names");
  for (const Value& from : arguments.positional) {
    if (!from.is_mapping()) fail("namespace: expected a dict");
    for (const auto& [key, value] : from.dict().entries()) {
      if (!key.is_string()) fail("namespace: expected strings as keys");
      made->set(key.string(), value);
    }
  }
  for (const auto& [name, value] : arguments.named) made->set(name, value);
  budget_.charge_items(1 + arguments.named.size());
  namespaces_.push_back(made);
  return Value(std::move(made));
}

Value Interpreter::evaluate(const Call& form, const ScopePointer& scope) {
  const Position at = at_;
  const auto* name = std::get_if<Name>(&form.callee->form);
  const bool is_namespace = name && name->name == "namespace" &&
                            !scope->find(name->name) &&
                            !variables_.find_name(name->name);
  const Value callee = is_namespace ? Value() : evaluate(*form.callee, scope);
  const CallArguments arguments = evaluate(form.arguments, scope);
  at_ = at;
  return is_namespace ? make_namespace(arguments) : call(callee, arguments);
}

Value Interpreter::evaluate(const FilterCall& form, const ScopePointer& scope) {
  const Position at = at_;
  const Value input =
      form.input ? evaluate(*form.input, scope) : Value(*block_text_);
  const CallArguments arguments = evaluate(form.arguments, scope);
  at_ = at;
  budget_.step();
  return form.filter->body(input, arguments, budget_);
}

Value Interpreter::evaluate(const TestCall& form, const ScopePointer& scope) {
  const Position at = at_;
  const Value input = evaluate(*form.input, scope);
  const CallArguments arguments = evaluate(form.arguments, scope);
  at_ = at;
  return form.test->body(input, arguments, budget_);
}

Value Interpreter::evaluate(const Unary& form, const ScopePointer& scope) {
  const Position at = at_;
  const Value operand = evaluate(*form.operand, scope);
  at_ = at;
  if (form.op == UnaryOperator::kNot) return !operand.is_true();
  return apply_sign(form.op, operand);
}

Value Interpreter::evaluate(const Binary& form, const ScopePointer& scope) {
  const Position at = at_;
  const Value left = evaluate(*form.left, scope);
  const Value right = evaluate(*form.right, scope);
  at_ = at;
  return apply_binary(form.op, left, right, budget_);
}

Value Interpreter::evaluate(const Logical& form, const ScopePointer& scope) {
  Value left = evaluate(*form.left, scope);
  if (left.is_true() != form.is_and) return left;
  return evaluate(*form.right, scope);
}

Value Interpreter::evaluate(const ComparisonChain& form,
                            const ScopePointer& scope) {
  const Position at = at_;
  Value left = evaluate(*form.first, scope);
  for (const auto& [comparison, operand] : form.rest) {
    Value right = evaluate(*operand, scope);
    at_ = at;
    if (!compare(comparison, left, right, budget_)) return false;
    left = std::move(right);
  }
  return true;
}

Value Interpreter::evaluate(const Concatenation& form,
                            const ScopePointer& scope) {
  std::string all;
  for (const ExpressionPointer& part : form.parts) {
    const std::string one = to_text(evaluate(*part, scope), budget_);
    budget_.charge_bytes(one.size());
    all += one;
  }
  return all;
}

Value Interpreter::evaluate(const Conditional& form,
                            const ScopePointer& scope) {
  if (evaluate(*form.condition, scope).is_true())
    return evaluate(*form.value, scope);
  if (form.otherwise) return evaluate(*form.otherwise, scope);
  return Value::undefined("the condition does not hold and there is no else");
}

}  // namespace titan::chat
