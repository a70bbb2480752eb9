// SPDX-License-Identifier: BSD-3-Clause
// Collectives that autograd sees: the two conjugate identities of tensor
// parallelism (Megatron-LM's f and g).
#pragma once

#include <ATen/core/Tensor.h>

#include "core/dist/group.h"

namespace titan::dist {

/// Forward: x itself. Backward: the gradient summed over the group.
at::Tensor copy_to_group(const at::Tensor& x, Group& group);

/// Forward: the sum over the group. Backward: the gradient itself.
at::Tensor reduce_from_group(const at::Tensor& x, Group& group);

}  // namespace titan::dist
