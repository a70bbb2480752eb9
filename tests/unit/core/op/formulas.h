// SPDX-License-Identifier: BSD-3-Clause
// Every op once more, as a plain differentiable float64 formula that shares no
// code with core/op/reference: what the references are held against.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "core/op/spec.h"

namespace titan::op::test {

/// Outputs of `spec` by formula. Floating inputs are float64. For an op that
/// writes its inputs: the new values of the mutated inputs.
std::vector<at::Tensor> formula(const OpSpec& spec,
                                const Attributes& attributes,
                                const std::vector<at::Tensor>& inputs);

}  // namespace titan::op::test
