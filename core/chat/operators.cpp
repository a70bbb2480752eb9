// SPDX-License-Identifier: BSD-3-Clause
#include "core/chat/operators.h"

#include <algorithm>
#include <cmath>

#include "core/chat/access.h"
#include "core/chat/problem.h"
#include "core/chat/string_format.h"
#include "core/chat/unicode_text.h"

namespace titan::chat {
namespace {

std::string_view symbol_of(BinaryOperator op) {
  constexpr std::string_view kSymbols[] = {"+", "-", "*", "/", "//", "%", "**"};
  return kSymbols[static_cast<size_t>(op)];
}

[[noreturn]] void fail_overflow() {
  fail("the result is beyond 64 bits");
}

int64_t floor_divide(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

double floor_modulo(double a, double b) {
  const double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

Value power(const Value& left, const Value& right) {
  const bool is_whole = !left.is_float() && !right.is_float();
  if (!is_whole || right.integer() < 0) {
    if (left.number() == 0 && right.number() < 0) fail("zero is divided by");
    const double result = std::pow(left.number(), right.number());
    if (std::isnan(result) && !std::isnan(left.number()))
      fail("the power is not a real number");
    return result;
  }
  const int64_t base = left.integer();
  const bool is_odd = right.integer() % 2 != 0;
  // Anything else overflows before the 63rd turn.
  if (base == 0 || base == 1) return right.integer() == 0 ? 1 : base;
  if (base == -1) return is_odd ? -1 : 1;
  int64_t result = 1;
  for (int64_t i = 0; i < right.integer(); ++i)
    if (__builtin_mul_overflow(result, base, &result)) fail_overflow();
  return result;
}

Value compute_integers(BinaryOperator op, int64_t a, int64_t b) {
  int64_t result = 0;
  bool is_over = false;
  switch (op) {
    case BinaryOperator::kAdd:
      is_over = __builtin_add_overflow(a, b, &result);
      break;
    case BinaryOperator::kSubtract:
      is_over = __builtin_sub_overflow(a, b, &result);
      break;
    case BinaryOperator::kMultiply:
      is_over = __builtin_mul_overflow(a, b, &result);
      break;
    default:
      if (b == 0) fail("zero is divided by");
      if (op == BinaryOperator::kDivide)
        return static_cast<double>(a) / static_cast<double>(b);
      // -2^63 / -1 is the one quotient that does not fit.
      is_over = b == -1 && __builtin_sub_overflow(0, a, &result);
      if (is_over) break;
      result = floor_divide(a, b);
      if (op == BinaryOperator::kModulo) result = a - result * b;
  }
  if (is_over) fail_overflow();
  return result;
}

Value compute_floats(BinaryOperator op, double a, double b) {
  const bool is_division = op == BinaryOperator::kDivide ||
                           op == BinaryOperator::kFloorDivide ||
                           op == BinaryOperator::kModulo;
  if (is_division && b == 0) fail("zero is divided by");
  switch (op) {
    case BinaryOperator::kAdd:
      return a + b;
    case BinaryOperator::kSubtract:
      return a - b;
    case BinaryOperator::kMultiply:
      return a * b;
    case BinaryOperator::kDivide:
      return a / b;
    case BinaryOperator::kModulo:
      return floor_modulo(a, b);
    default: {
      const double quotient = (a - floor_modulo(a, b)) / b;
      const double floor = std::floor(quotient);
      return quotient - floor > 0.5 ? floor + 1 : floor;
    }
  }
}

Value concatenate(const Value& left, const Value& right, Budget& budget) {
  budget.charge_bytes(left.string().size() + right.string().size());
  if (!left.is_markup() && !right.is_markup())
    return left.string() + right.string();
  // Markup escapes what it meets.
  const auto escaped = [](const Value& value) {
    return value.is_markup() ? value.string() : escape_html(value.string());
  };
  return Value::markup(escaped(left) + escaped(right));
}

Value join_lists(const Value& left, const Value& right, Budget& budget) {
  List all = left.items();
  budget.charge_items(all.size() + right.items().size());
  all.insert(all.end(), right.items().begin(), right.items().end());
  return Value::sequence(std::move(all), left.kind());
}

Value repeat(const Value& value, int64_t count, Budget& budget) {
  const auto times = static_cast<size_t>(std::max<int64_t>(0, count));
  const size_t size =
      value.is_string() ? value.string().size() : value.items().size();
  size_t total = 0;
  if (__builtin_mul_overflow(size, times, &total) || total > size_t{1} << 40)
    fail("the repeated value is too long");
  if (value.is_string()) {
    budget.charge_bytes(total);
    std::string out;
    for (size_t i = 0; i < (size ? times : 0); ++i) out += value.string();
    return value.is_markup() ? Value::markup(std::move(out))
                             : Value(std::move(out));
  }
  budget.charge_items(total);
  List out;
  for (size_t i = 0; i < (size ? times : 0); ++i)
    out.insert(out.end(), value.items().begin(), value.items().end());
  return Value::sequence(std::move(out), value.kind());
}

bool can_repeat(const Value& value) {
  return value.is_string() || value.is_kind(SequenceKind::kList) ||
         value.is_kind(SequenceKind::kTuple);
}
bool is_whole(const Value& value) {
  return value.is_integer() || value.is_boolean();
}

}  // namespace

Value apply_binary(BinaryOperator op,
                   const Value& left,
                   const Value& right,
                   Budget& budget) {
  require_defined(left);
  if (op == BinaryOperator::kModulo && left.is_string() && !left.is_markup())
    return format_percent(left.string(), right, budget);
  require_defined(right);
  if (left.is_number() && right.is_number()) {
    if (op == BinaryOperator::kPower) return power(left, right);
    if (left.is_float() || right.is_float())
      return compute_floats(op, left.number(), right.number());
    return compute_integers(op, left.integer(), right.integer());
  }
  if (op == BinaryOperator::kAdd) {
    if (left.is_string() && right.is_string())
      return concatenate(left, right, budget);
    if (left.is_sequence() && right.is_sequence() && can_repeat(left) &&
        left.kind() == right.kind())
      return join_lists(left, right, budget);
  }
  if (op == BinaryOperator::kMultiply) {
    if (can_repeat(left) && is_whole(right))
      return repeat(left, right.integer(), budget);
    if (is_whole(left) && can_repeat(right))
      return repeat(right, left.integer(), budget);
  }
  fail("there is no ",
       left.type_name(),
       ' ',
       symbol_of(op),
       ' ',
       right.type_name());
}

Value apply_sign(UnaryOperator op, const Value& operand) {
  require_defined(operand);
  if (!operand.is_number()) fail("a ", operand.type_name(), " has no sign");
  const bool is_minus = op == UnaryOperator::kMinus;
  if (operand.is_float())
    return is_minus ? -operand.number() : operand.number();
  if (!is_minus) return operand.integer();
  return compute_integers(BinaryOperator::kSubtract, 0, operand.integer());
}

bool contains(const Value& container, const Value& item, Budget& budget) {
  budget.step(container.extent().weight);
  if (container.is_string()) {
    require_defined(item);
    if (!item.is_string()) fail("in: expected a str, got a ", item.type_name());
    return container.string().find(item.string()) != std::string::npos;
  }
  if (container.is_mapping()) return container.dict().find(item) != nullptr;
  const Items items = iterate(container, budget);
  return std::any_of(items.begin(), items.end(), [&](const Value& one) {
    return is_equal(one, item);
  });
}

bool compare(Comparison comparison,
             const Value& left,
             const Value& right,
             Budget& budget) {
  budget.step(std::min(left.extent().weight, right.extent().weight));
  switch (comparison) {
    case Comparison::kEqual:
      return is_equal(left, right);
    case Comparison::kNotEqual:
      return !is_equal(left, right);
    case Comparison::kLess:
      return is_less(left, right);
    case Comparison::kGreater:
      return is_less(right, left);
    case Comparison::kLessEqual:
      return is_less(left, right) || is_equal(left, right);
    case Comparison::kGreaterEqual:
      return is_less(right, left) || is_equal(left, right);
    case Comparison::kIn:
      return contains(right, left, budget);
    case Comparison::kNotIn:
      break;
  }
  return !contains(right, left, budget);
}

}  // namespace titan::chat
