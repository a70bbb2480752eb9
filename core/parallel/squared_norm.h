// SPDX-License-Identifier: BSD-3-Clause
// Sum of squares for the gradient norm. In double: squares of float32 overflow
// from 1.8e19 on, and LibTorch's norm in double copies its input first.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace titan::parallel {

/// Sum over all elements of all tensors; float64 scalar. Partial sums are of
/// fixed pieces and added in order, so threads change no bit.
at::Tensor squared_norm(const std::vector<at::Tensor>& tensors);

}  // namespace titan::parallel
