// SPDX-License-Identifier: BSD-3-Clause
#include "core/op/reference/moe_scores.h"

#include <ATen/ATen.h>

namespace titan::op::reference {
namespace {

// s = sqrt(softplus(x)): ds/dx = sigmoid(x) / (2 s), 0 where s has underflowed
// (x < -103 in float32).
at::Tensor sqrt_softplus_backward(const at::Tensor& x,
                                  const at::Tensor& s,
                                  const at::Tensor& grad) {
  return (grad * x.sigmoid() / (2 * s)).masked_fill_(s.eq(0), 0);
}

}  // namespace

AttributeSpec moe_score_attribute() {
  return {"score",
          std::string("softmax"),
          "score of an expert: softmax over all experts, sigmoid, or "
          "sqrt(softplus)",
          {"softmax", "sigmoid", "sqrt_softplus"}};
}

at::Tensor moe_scores(const Attributes& attributes, const at::Tensor& logits) {
  const at::Tensor x = logits.to(acc_type(logits.scalar_type()));
  const std::string& score = attributes.get_string("score");
  if (score == "softmax") return x.softmax(1);
  if (score == "sigmoid") return x.sigmoid();
  return at::softplus(x).sqrt_();
}

at::Tensor moe_scores_backward(const Attributes& attributes,
                               const at::Tensor& logits,
                               const at::Tensor& scores,
                               const at::Tensor& grad_scores) {
  const std::string& score = attributes.get_string("score");
  at::Tensor grad;
  if (score == "softmax")
    grad = scores * (grad_scores - (grad_scores * scores).sum(1, true));
  else if (score == "sigmoid")
    grad = grad_scores * scores * (1 - scores);
  else
    grad = sqrt_softplus_backward(
        logits.to(scores.scalar_type()), scores, grad_scores);
  return grad.to(logits.scalar_type());
}

}  // namespace titan::op::reference
