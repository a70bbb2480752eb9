// SPDX-License-Identifier: BSD-3-Clause
#include "core/chat/interpreter.h"

#include <algorithm>

#include "core/chat/access.h"
#include "core/chat/global_functions.h"
#include "core/chat/python_text.h"

namespace titan::chat {
namespace {

// A macro, or the body of a {% call %} block. Lives no longer than the
// interpreter.
class Macro final : public Object {
 public:
  Macro(Interpreter& interpreter,
        std::shared_ptr<const MacroForm> form,
        ScopePointer defined_in)
      : interpreter_(interpreter),
        form_(std::move(form)),
        defined_in_(std::move(defined_in)) {}
  std::string_view type_name() const override { return "macro"; }
  bool is_callable() const override { return true; }
  Value call(const CallArguments& arguments, Budget&) override {
    return interpreter_.call_macro(*form_, defined_in_, arguments);
  }

 private:
  Interpreter& interpreter_;
  std::shared_ptr<const MacroForm> form_;
  ScopePointer defined_in_;
};

// Puts another value in a variable for as long as it lives.
template <typename T>
class Replaced {
 public:
  Replaced(T& variable, T value)
      : variable_(variable), old_(std::exchange(variable, value)) {}
  ~Replaced() { variable_ = old_; }
  Replaced(const Replaced&) = delete;
  Replaced& operator=(const Replaced&) = delete;

 private:
  T& variable_;
  T old_;
};

}  // namespace

Interpreter::Interpreter(const Dict& variables, const RenderOptions& options)
    : variables_(variables),
      functions_(make_global_functions(options.now)),
      budget_(options.limits) {}

Interpreter::~Interpreter() {
  for (const auto& one : namespaces_) one->clear();
  for (const ScopePointer& scope : captured_scopes_) scope->clear();
}

RenderedChat Interpreter::run(const ParsedTemplate& parsed) {
  out_ = &result_.text;
  const auto root = std::make_shared<Scope>(nullptr);
  captured_scopes_.push_back(root);
  execute(parsed.body, root);
  return std::move(result_);
}

ScopePointer Interpreter::open_scope(const ScopePointer& parent) {
  return std::make_shared<Scope>(parent);
}

void Interpreter::append(std::string_view text) {
  budget_.charge_bytes(text.size());
  budget_.check_output(out_->size() + text.size());
  out_->append(text);
}

Interpreter::Flow Interpreter::execute(const Body& body,
                                       const ScopePointer& scope) {
  const Budget::Level level(budget_);
  for (const Statement& statement : body) {
    budget_.step();
    at_ = statement.at;
    const Flow flow = std::visit(
        [&](const auto& form) { return execute(form, scope); }, statement.form);
    if (flow != Flow::kNormal) return flow;
  }
  return Flow::kNormal;
}

Interpreter::Flow Interpreter::execute(const Data& data, const ScopePointer&) {
  append(data.text);
  return Flow::kNormal;
}

Interpreter::Flow Interpreter::execute(const Print& print,
                                       const ScopePointer& scope) {
  append(to_text(evaluate(*print.value, scope), budget_));
  return Flow::kNormal;
}

Interpreter::Flow Interpreter::execute(const If& form,
                                       const ScopePointer& scope) {
  for (const auto& [condition, body] : form.branches)
    if (evaluate(*condition, scope).is_true()) return execute(body, scope);
  return execute(form.otherwise, scope);
}

std::shared_ptr<const List> Interpreter::select_items(
    const For& form,
    const Value& iterable,
    const ScopePointer& scope) {
  const Items items = iterate(iterable, budget_);
  if (!form.condition) return items.list();
  auto chosen = std::make_shared<List>();
  for (const Value& item : items) {
    budget_.step();
    const ScopePointer inner = open_scope(scope);
    assign(form.target, item, inner);
    if (evaluate(*form.condition, inner).is_true()) chosen->push_back(item);
  }
  return chosen;
}

Interpreter::Flow Interpreter::execute(const For& form,
                                       const ScopePointer& scope) {
  const Value iterable = evaluate(*form.iterable, scope);
  const std::shared_ptr<const List> items = select_items(form, iterable, scope);
  const auto loop = std::make_shared<Loop>(items, iterable.extent());
  // As jinja2: `else` runs unless a turn reached its end, so also where each
  // turn was left by `continue`.
  bool has_finished_turn = false;
  for (const Value& item : *items) {
    budget_.step();
    const ScopePointer turn = open_scope(scope);
    turn->set("loop", Value(loop));
    assign(form.target, item, turn);
    const Flow flow = execute(form.body, turn);
    if (flow == Flow::kBreak) break;
    has_finished_turn |= flow == Flow::kNormal;
    loop->advance();
  }
  if (has_finished_turn) return Flow::kNormal;
  return execute(form.otherwise, open_scope(scope));
}

void Interpreter::assign(const Target& target,
                         const Value& value,
                         const ScopePointer& scope) {
  if (!target.parts.empty()) {
    const Items items = iterate(value, budget_);
    if (items.size() != target.parts.size())
      fail("expected ",
           target.parts.size(),
           " values to unpack, got ",
           items.size());
    for (size_t i = 0; i < items.size(); ++i)
      assign(target.parts[i], items[i], scope);
    return;
  }
  if (target.attribute.empty()) return scope->set(target.name, value);
  const Value* owner = scope->find(target.name);
  auto* space = owner && owner->is_object()
                    ? dynamic_cast<Namespace*>(owner->object().get())
                    : nullptr;
  if (!space) fail("'", target.name, "' is not a namespace");
  space->set(target.attribute, value);
}

Interpreter::Flow Interpreter::capture(const Body& body,
                                       const ScopePointer& scope,
                                       std::string& text) {
  const Replaced<std::string*> output(out_, &text);
  return execute(body, open_scope(scope));
}

Interpreter::Flow Interpreter::execute(const Assign& form,
                                       const ScopePointer& scope) {
  const Value value = evaluate(*form.value, scope);
  at_ = form.target.at;
  assign(form.target, value, scope);
  return Flow::kNormal;
}

Interpreter::Flow Interpreter::execute(const AssignBlock& form,
                                       const ScopePointer& scope) {
  std::string captured;
  const Flow flow = capture(form.body, scope, captured);
  if (flow != Flow::kNormal) return flow;
  assign(form.target,
         form.filters ? apply_filters(*form.filters, scope, captured)
                      : Value(std::move(captured)),
         scope);
  return flow;
}

Interpreter::Flow Interpreter::execute(const MacroDefinition& form,
                                       const ScopePointer& scope) {
  scope->set(form.macro->name, make_macro(form.macro, scope));
  return Flow::kNormal;
}

Value Interpreter::make_macro(std::shared_ptr<const MacroForm> macro,
                              const ScopePointer& scope) {
  budget_.charge_items(1);
  captured_scopes_.push_back(scope);
  return Value(std::make_shared<Macro>(*this, std::move(macro), scope));
}

Interpreter::Flow Interpreter::execute(const CallBlock& form,
                                       const ScopePointer& scope) {
  const Call& called = std::get<Call>(form.call->form);
  const Value callee = evaluate(*called.callee, scope);
  CallArguments arguments = evaluate(called.arguments, scope);
  arguments.named.emplace_back("caller", make_macro(form.caller, scope));
  at_ = form.call->at;
  append(to_text(call(callee, arguments), budget_));
  return Flow::kNormal;
}

Interpreter::Flow Interpreter::execute(const FilterBlock& form,
                                       const ScopePointer& scope) {
  std::string captured;
  const Flow flow = capture(form.body, scope, captured);
  if (flow != Flow::kNormal) return flow;
  append(to_text(apply_filters(*form.filters, scope, captured), budget_));
  return flow;
}

Interpreter::Flow Interpreter::execute(const With& form,
                                       const ScopePointer& scope) {
  const ScopePointer inner = open_scope(scope);
  for (const auto& [target, value] : form.assignments)
    assign(target, evaluate(*value, scope), inner);
  return execute(form.body, inner);
}

Interpreter::Flow Interpreter::execute(const Generation& form,
                                       const ScopePointer& scope) {
  const size_t begin = out_->size();
  {
    const Replaced<int> depth(generation_depth_, generation_depth_ + 1);
    execute(form.body, open_scope(scope));
  }
  if (out_ != &result_.text)
    result_.has_lost_generation = true;
  else if (generation_depth_ == 0)
    result_.generated.push_back({begin, out_->size()});
  return Flow::kNormal;
}

Value Interpreter::apply_filters(const Expression& filters,
                                 const ScopePointer& scope,
                                 std::string text) {
  const Replaced<const std::string*> input(block_text_, &text);
  return evaluate(filters, scope);
}

Value Interpreter::call_macro(const MacroForm& macro,
                              const ScopePointer& defined_in,
                              const CallArguments& arguments) {
  budget_.step();
  const Budget::Level level(budget_);
  const ScopePointer scope = open_scope(defined_in);
  bind_parameters(macro, arguments, scope);
  std::string captured;
  const Replaced<std::string*> output(out_, &captured);
  execute(macro.body, scope);
  return captured;
}

void Interpreter::bind_parameters(const MacroForm& macro,
                                  const CallArguments& arguments,
                                  const ScopePointer& scope) {
  CallArguments rest = arguments;
  // Puts a named argument into the scope, if it is there.
  const auto bind_named = [&](const std::string& name) {
    const auto found =
        std::find_if(rest.named.begin(), rest.named.end(), [&](auto& pair) {
          return pair.first == name;
        });
    if (found == rest.named.end()) return false;
    scope->set(name, std::move(found->second));
    rest.named.erase(found);
    return true;
  };
  size_t num_positional = 0;
  for (const auto& [name, otherwise] : macro.parameters) {
    const bool is_named = bind_named(name);
    if (num_positional < arguments.positional.size()) {
      if (is_named) fail(macro.name, ": argument '", name, "' given twice");
      scope->set(name, arguments.positional[num_positional++]);
    } else if (!is_named) {
      scope->set(name,
                 otherwise ? evaluate(*otherwise, scope)
                           : Value::undefined(
                                 text("parameter '", name, "' was not given")));
    }
  }
  if (bind_named("caller") && !macro.takes_caller)
    fail(macro.name, " does not call its caller");
  if (num_positional < rest.positional.size() && !macro.takes_more_positional)
    fail(macro.name,
         ": expected at most ",
         macro.parameters.size(),
         " arguments, got ",
         rest.positional.size());
  if (!rest.named.empty() && !macro.takes_more_named)
    fail(macro.name, ": unknown argument '", rest.named[0].first, "'");
  rest.positional.erase(rest.positional.begin(),
                        rest.positional.begin() + num_positional);
  if (macro.takes_more_positional)
    scope->set("varargs", Value::tuple(std::move(rest.positional)));
  if (!macro.takes_more_named) return;
  Dict named;
  for (auto& [name, value] : rest.named) named.set(name, std::move(value));
  scope->set("kwargs", std::move(named));
}

}  // namespace titan::chat
