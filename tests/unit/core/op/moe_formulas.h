// SPDX-License-Identifier: BSD-3-Clause
// Formulas of the ops of mixture of experts: token by token and expert by
// expert, in float64, without any sorting or grouping (see formulas.h).
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/op/attributes.h"

namespace titan::op::test {

using Formula = std::vector<at::Tensor> (*)(const Attributes&,
                                            const std::vector<at::Tensor>&);

/// Null when `name` is not one of them.
Formula moe_formula(const std::string& name);

}  // namespace titan::op::test
