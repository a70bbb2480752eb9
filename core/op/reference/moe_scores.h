// SPDX-License-Identifier: BSD-3-Clause
// Scores of experts: what the router and the balance loss make of logits.
// Legend: T tokens, E experts.
#pragma once

#include "core/op/reference/reference.h"

namespace titan::op::reference {

/// "score": softmax, sigmoid or sqrt_softplus.
AttributeSpec moe_score_attribute();

/// [T, E] in acc(dtype).
at::Tensor moe_scores(const Attributes& attributes, const at::Tensor& logits);

/// Gradient of the logits, in their dtype.
at::Tensor moe_scores_backward(const Attributes& attributes,
                               const at::Tensor& logits,
                               const at::Tensor& scores,
                               const at::Tensor& grad_scores);

}  // namespace titan::op::reference
