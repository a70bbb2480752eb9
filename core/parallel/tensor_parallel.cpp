// SPDX-License-Identifier: BSD-3-Clause
// Legend: T tokens, D model, V vocabulary (of this rank in *_local).
#include "core/parallel/tensor_parallel.h"

#include <ATen/ATen.h>

#include <titan/error.h>

#include "core/dist/functional.h"
#include "core/op/select.h"
#include "core/op/slot.h"
#include "core/parallel/precision.h"

namespace titan::parallel {
namespace {

constexpr int64_t kIgnoredLabel = -100;
constexpr std::string_view kLinear = "titan.linear/1";
constexpr std::string_view kEmbedding = "titan.embedding/1";

}  // namespace

TensorParallel::TensorParallel(const module::ModuleTree& tree,
                               const Plan& plan,
                               const dist::Mesh& mesh,
                               module::ParameterSource& parameters)
    : parameters_(parameters) {
  if (mesh.size("tp") == 1) return;
  group_ = &mesh.group("tp");
  for (const auto& module : tree.modules())
    for (const ModuleTransition& transition : plan.transitions)
      if (op::fqn_matches(transition.match, module->fqn))
        transitions_[module.get()] = transition;
}

const ModuleTransition* TensorParallel::find(
    const module::Module& module) const {
  if (group_ == nullptr) return nullptr;
  const auto found = transitions_.find(&module);
  return found == transitions_.end() ? nullptr : &found->second;
}

bool TensorParallel::is_vocabulary_parallel(
    const module::Module& module) const {
  const ModuleTransition* transition = find(module);
  return transition != nullptr && transition->is_vocabulary_parallel;
}

void TensorParallel::before(const module::Module& module,
                            std::vector<at::Tensor>& in) {
  const ModuleTransition* transition = find(module);
  if (transition == nullptr || !transition->copies_input) return;
  for (at::Tensor& tensor : in)
    if (tensor.defined() && tensor.requires_grad())
      tensor = dist::copy_to_group(tensor, *group_);
}

void TensorParallel::after(const module::Module& module,
                           std::vector<at::Tensor>& out) {
  const ModuleTransition* transition = find(module);
  if (transition == nullptr || !transition->reduces_output) return;
  for (at::Tensor& tensor : out)
    if (tensor.defined()) tensor = dist::reduce_from_group(tensor, *group_);
  if (has_late_bias(module))
    out.front() = out.front() + parameters_.compute(*module.parameters[1]);
}

bool TensorParallel::has_late_bias(const module::Module& module) const {
  return module.class_name() == kLinear && module.parameters.size() > 1;
}

bool TensorParallel::run_leaf(const module::Module& leaf,
                              const std::vector<at::Tensor>& in,
                              std::vector<at::Tensor>& out) {
  const ModuleTransition* transition = find(leaf);
  if (transition == nullptr) return false;
  if (transition->is_vocabulary_parallel && leaf.class_name() == kEmbedding) {
    out = {embed(leaf, in.front())};
    return true;
  }
  if (transition->sums_gradients) {
    std::vector<at::Tensor> inputs = in;
    for (const module::Parameter* parameter : leaf.parameters)
      inputs.push_back(
          dist::copy_to_group(parameters_.compute(*parameter), *group_));
    out = op::invoke(leaf.leaf_site->slot, inputs);
    return true;
  }
  // The bias of a row cut is added once, after the sum.
  if (transition->reduces_output && has_late_bias(leaf)) {
    out = {at::linear(in.front(), parameters_.compute(*leaf.parameters[0]))};
    return true;
  }
  return false;
}

at::Tensor TensorParallel::embed(const module::Module& leaf,
                                 const at::Tensor& tokens_T) const {
  const at::Tensor weight_VD = parameters_.compute(*leaf.parameters.front());
  const int64_t rows = weight_VD.size(0);
  const at::Tensor local_T = tokens_T - group_->rank() * rows;
  const at::Tensor is_here_T = (local_T >= 0).logical_and(local_T < rows);
  const at::Tensor row_T = local_T.masked_fill(is_here_T.logical_not(), 0);
  const at::Tensor x_TD = at::embedding(weight_VD, row_T);
  return x_TD * is_here_T.unsqueeze(-1).to(x_TD.scalar_type());
}

at::Tensor TensorParallel::cross_entropy(const at::Tensor& hidden_TD,
                                         const at::Tensor& weight_VD,
                                         const at::Tensor& labels_T,
                                         const at::Tensor& loss_weight_T,
                                         double logit_scale,
                                         double logit_cap) const {
  const auto accumulate = accumulation_dtype(hidden_TD.scalar_type());
  const at::Tensor x_TD = dist::copy_to_group(hidden_TD, *group_);
  at::Tensor logits_TV = at::linear(x_TD, weight_VD).to(accumulate);
  if (logit_scale != 1.0) logits_TV = logits_TV * logit_scale;
  if (logit_cap != 0.0) logits_TV = at::tanh(logits_TV / logit_cap) * logit_cap;

  // The maximum only steadies the exponentials: no gradient goes through it.
  at::Tensor max_T = logits_TV.detach().amax(-1);
  group_->all_reduce_max(max_T);
  const at::Tensor shifted_TV = logits_TV - max_T.unsqueeze(-1);
  const at::Tensor sum_T =
      dist::reduce_from_group(shifted_TV.exp().sum(-1), *group_);

  const int64_t columns = weight_VD.size(0);
  const at::Tensor local_T = labels_T - group_->rank() * columns;
  const at::Tensor is_here_T = (local_T >= 0).logical_and(local_T < columns);
  const at::Tensor column_T = local_T.masked_fill(is_here_T.logical_not(), 0);
  const at::Tensor target_T = dist::reduce_from_group(
      shifted_TV.gather(-1, column_T.unsqueeze(-1)).squeeze(-1) *
          is_here_T.to(accumulate),
      *group_);
  const at::Tensor counts_T =
      loss_weight_T.to(accumulate) * (labels_T != kIgnoredLabel).to(accumulate);
  return ((sum_T.log() - target_T) * counts_T).sum();
}

at::Tensor TensorParallel::gather_logits(const at::Tensor& logits_TV) const {
  if (group_ == nullptr) return logits_TV;
  const int64_t tokens = logits_TV.size(0), columns = logits_TV.size(1);
  at::Tensor all =
      at::empty({group_->size() * tokens * columns}, logits_TV.options());
  group_->all_gather(all, logits_TV.contiguous().view({-1}));
  return all.view({group_->size(), tokens, columns})
      .permute({1, 0, 2})
      .reshape({tokens, group_->size() * columns});
}

}  // namespace titan::parallel
