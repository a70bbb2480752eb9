// SPDX-License-Identifier: BSD-3-Clause
// What tensor parallelism does around modules, as the plan says: identity with
// a summed backward before column cuts, a sum after row cuts, and the two
// places where the vocabulary is cut (embedding rows, head columns).
#pragma once

#include <map>
#include <vector>

#include "core/dist/mesh.h"
#include "core/module/context.h"
#include "core/module/tree.h"
#include "core/parallel/plan.h"

namespace titan::parallel {

class TensorParallel final : public module::Transitions {
 public:
  TensorParallel(const module::ModuleTree& tree,
                 const Plan& plan,
                 const dist::Mesh& mesh,
                 module::ParameterSource& parameters);

  bool is_active() const { return group_ != nullptr; }

  void before(const module::Module& module,
              std::vector<at::Tensor>& in) override;
  void after(const module::Module& module,
             std::vector<at::Tensor>& out) override;
  bool run_leaf(const module::Module& leaf,
                const std::vector<at::Tensor>& in,
                std::vector<at::Tensor>& out) override;

  bool is_vocabulary_parallel(const module::Module& module) const;

  /// Cross-entropy over logits whose columns are cut over tp (Megatron-LM,
  /// Shoeybi et al. 2019, section 3): maximum and sum of exponentials are
  /// reduced, the target's logit comes from its owner. hidden_TD, weight_VD of
  /// this rank; sum over tokens in acc(dtype), differentiable.
  at::Tensor cross_entropy(const at::Tensor& hidden_TD,
                           const at::Tensor& weight_VD,
                           const at::Tensor& labels_T,
                           const at::Tensor& loss_weight_T,
                           double logit_scale,
                           double logit_cap) const;

  /// Columns of all ranks, without gradients: [T, V].
  at::Tensor gather_logits(const at::Tensor& logits_TV) const;

 private:
  const ModuleTransition* find(const module::Module& module) const;
  bool has_late_bias(const module::Module& module) const;
  at::Tensor embed(const module::Module& leaf,
                   const at::Tensor& tokens_T) const;

  dist::Group* group_ = nullptr;
  module::ParameterSource& parameters_;
  std::map<const module::Module*, ModuleTransition> transitions_;
};

}  // namespace titan::parallel
