// SPDX-License-Identifier: BSD-3-Clause
// What LibTorch's C++ meta kernels cannot tell the fake run: result shapes of
// ops whose meta kernel is Python only, and floating-point operations of GEMMs.
#pragma once

#include <string>

#include <ATen/core/stack.h>

namespace titan::dispatch {

/// Replaces the (meta) arguments on `stack` by meta results when `name` is an
/// op of the list; false leaves the stack as it is.
bool fake_shape(const std::string& name, torch::jit::Stack& stack);

/// 2 m n k of matrix products and convolutions, 0 for everything else.
double aten_flops(const std::string& name, const torch::jit::Stack& stack);

}  // namespace titan::dispatch
