// SPDX-License-Identifier: BSD-3-Clause
// titan.moe_balance_loss/1: the sequence-wise balance loss that completes a
// bias for balancing experts, without its factor, summed over the sequences of
// the batch. From DeepSeek-V3 (arXiv 2412.19437, equations 17 to 20). How often
// an expert was chosen is a constant; its mean score carries the gradient.
// Legend: T tokens, E experts, K experts per token, S sequences.
#include <ATen/ATen.h>

#include "core/op/reference/moe_scores.h"

namespace titan::op::reference {
namespace {

enum Input { kLogits, kIndices, kCuSeqlens };

Shapes shape(const Attributes&, const std::vector<TensorMeta>& in) {
  expect_floating(in[kLogits], "logits");
  expect_num_dims(in[kLogits], "logits", 2);
  expect_integer(in[kIndices], "indices");
  expect_num_dims(in[kIndices], "indices", 2);
  expect_dim(in[kIndices], "indices", 0, in[kLogits].sizes[0]);
  expect_integer(in[kCuSeqlens], "cu_seqlens");
  expect_num_dims(in[kCuSeqlens], "cu_seqlens", 1);
  return {{in[kLogits].like(acc_type(in[kLogits].dtype), {})}, {}};
}

/// [T, E]: f[s, e] / T_s for the sequence s of token t, so that the loss is the
/// sum of its products with the normalised scores.
at::Tensor load_per_token(const at::Tensor& index_TK,
                          const at::Tensor& cu_seqlens,
                          int64_t num_experts,
                          at::ScalarType acc) {
  const int64_t num_tokens = index_TK.size(0), per_token = index_TK.size(1);
  const int64_t num_sequences = cu_seqlens.numel() - 1;
  const at::Tensor bounds = cu_seqlens.to(at::kLong);
  const at::Tensor length_S =
      bounds.narrow(0, 1, num_sequences) - bounds.narrow(0, 0, num_sequences);
  // Bounds that are not above t: the sequence of token t, counted from one.
  const at::Tensor sequence_T =
      at::searchsorted(bounds,
                       at::arange(num_tokens, bounds.options()),
                       /*out_int32=*/false,
                       /*right=*/true) -
      1;
  const at::Tensor slot_TK =
      sequence_T.unsqueeze(1) * num_experts + index_TK.to(at::kLong);
  const at::Tensor flat = slot_TK.reshape({-1});
  const at::Tensor counts_SE =
      at::zeros({num_sequences * num_experts}, flat.options())
          .scatter_add_(0, flat, at::ones_like(flat))
          .view({num_sequences, num_experts});
  const at::Tensor square_S1 = length_S.to(acc).square().unsqueeze(1);
  const double factor =
      static_cast<double>(num_experts) / static_cast<double>(per_token);
  return (counts_SE.to(acc) * factor / square_S1).index_select(0, sequence_T);
}

ForwardResult forward(const ForwardCall& call) {
  const at::Tensor scores_TE =
      moe_scores(call.attributes, call.inputs[kLogits]);
  const at::Tensor load_TE = load_per_token(call.inputs[kIndices],
                                            call.inputs[kCuSeqlens],
                                            scores_TE.size(1),
                                            scores_TE.scalar_type());
  const at::Tensor share_TE = scores_TE / scores_TE.sum(1, true);
  return {{(share_TE * load_TE).sum()}, {}};
}

std::vector<at::Tensor> backward(const BackwardCall& call) {
  std::vector<at::Tensor> grads(3);
  if (!(call.want & 1 << kLogits)) return grads;
  const at::Tensor& logits_TE = call.inputs[kLogits];
  const at::Tensor scores_TE = moe_scores(call.attributes, logits_TE);
  const at::Tensor load_TE = load_per_token(call.inputs[kIndices],
                                            call.inputs[kCuSeqlens],
                                            scores_TE.size(1),
                                            scores_TE.scalar_type());
  const at::Tensor sum_T1 = scores_TE.sum(1, true);
  const at::Tensor mean_T1 = (load_TE * scores_TE).sum(1, true) / sum_T1;
  const at::Tensor grad_TE =
      (load_TE - mean_T1) / sum_T1 * call.grad_outputs[0];
  grads[kLogits] =
      moe_scores_backward(call.attributes, logits_TE, scores_TE, grad_TE);
  return grads;
}

ConformanceCase make_case(std::string name,
                          std::string score,
                          std::vector<int64_t> bounds,
                          int64_t num_experts,
                          int64_t per_token) {
  return {std::move(name),
          {{"score", std::move(score)}},
          [=](at::ScalarType dtype, uint64_t seed) {
            const int64_t num_tokens = bounds.back();
            const at::Tensor order =
                random_normal({num_tokens, num_experts}, at::kDouble, seed + 1);
            return std::vector<at::Tensor>{
                random_normal({num_tokens, num_experts}, dtype, seed),
                order.argsort(int64_t{1}).narrow(1, 0, per_token).contiguous(),
                at::tensor(bounds, at::kInt)};
          }};
}

}  // namespace

OpSpec moe_balance_loss_spec() {
  OpSpec spec;
  spec.id = "titan.moe_balance_loss/1";
  spec.formula =
      "loss = sum_s sum_e f[s, e] * P[s, e]; f = E / (K T_s) * (tokens of s "
      "that chose e); P = mean over tokens of s of score[e] / sum(score)";
  spec.inputs = {{"logits"},
                 {"indices", false, false, true},
                 {"cu_seqlens", false, false, true}};
  spec.outputs = {{"loss"}};
  spec.attributes = {moe_score_attribute()};
  spec.shape = shape;
  spec.forward = forward;
  spec.backward = backward;
  spec.flops = [](const Attributes&, const std::vector<TensorMeta>& in) {
    return 8.0 * static_cast<double>(in[kLogits].num_elements());
  };
  spec.tolerances = rounding_tolerances(
      16, "softmax, a normalising sum and a sum of 91 terms in acc(dtype)");
  spec.cases = [] {
    return std::vector<ConformanceCase>{
        make_case("prime sizes", "sigmoid", {0, 5, 6, 13}, 7, 3),
        make_case("softmax", "softmax", {0, 4, 9}, 5, 2),
        make_case("one sequence", "sqrt_softplus", {0, 11}, 4, 1),
        make_case("an empty sequence", "sigmoid", {0, 3, 3, 7}, 5, 2)};
  };
  return spec;
}

}  // namespace titan::op::reference
