// SPDX-License-Identifier: BSD-3-Clause
// titan.cross_entropy/1: weighted sum of negative log-likelihoods, in
// acc(dtype). A token with label -100 counts for nothing, even if its logits
// are NaN. Legend: T tokens, V vocabulary.
#include <ATen/ATen.h>

#include "core/op/reference/reference.h"

namespace titan::op::reference {
namespace {

enum Input { kLogits, kLabels, kWeight };

Shapes shape(const Attributes&, const std::vector<TensorMeta>& in) {
  expect_floating(in[kLogits], "logits");
  expect_num_dims(in[kLogits], "logits", 2);
  expect_integer(in[kLabels], "labels");
  expect_num_dims(in[kLabels], "labels", 1);
  expect_dim(in[kLabels], "labels", 0, in[kLogits].sizes[0]);
  if (in[kWeight].is_defined) {
    expect_num_dims(in[kWeight], "weight", 1);
    expect_dim(in[kWeight], "weight", 0, in[kLogits].sizes[0]);
  }
  const auto acc = acc_type(in[kLogits].dtype);
  return {{in[kLogits].like(acc, {})},
          {in[kLogits].like(acc, {in[kLogits].sizes[0]})}};
}

/// [T] in acc(dtype): the token's weight, 0 where ignored.
at::Tensor token_weights(const at::Tensor& labels_T,
                         const at::Tensor& weight_T,
                         at::ScalarType acc) {
  const at::Tensor is_valid = labels_T.ne(kIgnoredLabel);
  if (!weight_T.defined()) return is_valid.to(acc);
  return weight_T.to(acc).masked_fill(is_valid.logical_not(), 0);
}

ForwardResult forward(const ForwardCall& call) {
  const at::Tensor& labels_T = call.inputs[kLabels];
  const auto acc = acc_type(call.inputs[kLogits].scalar_type());
  const at::Tensor logits_TV = call.inputs[kLogits].to(acc);
  check_labels(labels_T, logits_TV.size(1));
  const at::Tensor index_T1 = labels_T.to(at::kLong).clamp_min(0).unsqueeze(1);
  const at::Tensor lse_T = logits_TV.logsumexp(1);
  const at::Tensor weight_T =
      token_weights(labels_T, call.inputs[kWeight], acc);
  const at::Tensor loss_T = lse_T - logits_TV.gather(1, index_T1).squeeze(1);
  const at::Tensor weighted_T =
      (loss_T * weight_T).masked_fill_(weight_T.eq(0), 0);
  return {{weighted_T.sum()}, {lse_T}};
}

std::vector<at::Tensor> backward(const BackwardCall& call) {
  std::vector<at::Tensor> grads(3);
  if (!(call.want & 1 << kLogits)) return grads;
  const at::Tensor& labels_T = call.inputs[kLabels];
  const at::Tensor& lse_T = call.saved[0];
  const auto acc = lse_T.scalar_type();
  const at::Tensor weight_T =
      token_weights(labels_T, call.inputs[kWeight], acc);
  const at::Tensor scale_T1 =
      (weight_T * call.grad_outputs[0].to(acc)).unsqueeze(1);
  at::Tensor grad_TV = at::sub(call.inputs[kLogits], lse_T.unsqueeze(1));
  grad_TV.exp_().mul_(scale_T1);
  grad_TV.scatter_add_(
      1, labels_T.to(at::kLong).clamp_min(0).unsqueeze(1), scale_T1.neg());
  grad_TV.masked_fill_(weight_T.eq(0).unsqueeze(1), 0);
  grads[kLogits] = grad_TV.to(call.inputs[kLogits].scalar_type());
  return grads;
}

ConformanceCase make_case(std::string name,
                          std::vector<int64_t> sizes,
                          bool has_weight,
                          int64_t num_ignored) {
  return {std::move(name), {}, [=](at::ScalarType dtype, uint64_t seed) {
            at::Tensor labels = random_ids({sizes[0]}, sizes[1], seed + 1);
            labels.narrow(0, 0, num_ignored).fill_(kIgnoredLabel);
            at::Tensor weight;
            if (has_weight)
              weight =
                  random_normal({sizes[0]}, at::kFloat, seed + 2).square_();
            return std::vector<at::Tensor>{
                random_normal(sizes, dtype, seed), labels, weight};
          }};
}

}  // namespace

OpSpec cross_entropy_spec() {
  OpSpec spec;
  spec.id = "titan.cross_entropy/1";
  spec.formula =
      "loss_sum = sum_t weight[t] * (logsumexp(logits[t]) - "
      "logits[t, labels[t]]), label -100 ignored";
  spec.inputs = {{"logits"},
                 {"labels", false, false, true},
                 {"weight", true, false, true}};
  spec.outputs = {{"loss_sum"}};
  spec.saved = {"lse"};
  spec.shape = shape;
  spec.forward = forward;
  spec.backward = backward;
  spec.flops = [](const Attributes&, const std::vector<TensorMeta>& in) {
    return 4.0 * static_cast<double>(in[kLogits].num_elements());
  };
  spec.tolerances = rounding_tolerances(
      16, "float32 logsumexp and a sum of 13 terms; bf16 only in backward");
  spec.cases = [] {
    return std::vector<ConformanceCase>{
        make_case("prime sizes", {13, 31}, true, 2),
        make_case("no weights", {5, 7}, false, 0),
        make_case("all ignored", {3, 7}, true, 3),
        make_case("no tokens", {0, 7}, true, 0),
        make_case("one class", {3, 1}, true, 0)};
  };
  return spec;
}

}  // namespace titan::op::reference
