// SPDX-License-Identifier: BSD-3-Clause
// What + - * / and the comparisons mean: Python's rules, on 64-bit integers.
#pragma once

#include "core/chat/budget.h"
#include "core/chat/syntax.h"
#include "core/chat/value.h"

namespace titan::chat {

/// All throw Problem: types that do not fit, an integer beyond 64 bits, a
/// division by zero, an operand that is undefined.
Value apply_binary(BinaryOperator op,
                   const Value& left,
                   const Value& right,
                   Budget& budget);
/// Minus and plus.
Value apply_sign(UnaryOperator op, const Value& operand);
bool compare(Comparison comparison,
             const Value& left,
             const Value& right,
             Budget& budget);
/// `item in container`.
bool contains(const Value& container, const Value& item, Budget& budget);

}  // namespace titan::chat
