// SPDX-License-Identifier: BSD-3-Clause
// One adapted linear layer. Legend: T tokens, I input features, O outputs, R
// rank (outputs and, behind a row cut, inputs are local under tensor
// parallelism).
#pragma once

#include <optional>

#include <titan/sdk/transform.hpp>

namespace titan::lora {

struct AdapterOptions {
  int64_t rank;
  double scale;
  bool use_dora;
};

/// LoRA (Hu et al. 2021): y + scale B(A x). DoRA (Liu et al. 2024): the rows of
/// W + scale B A, each with a length of its own that is trained, too.
class LowRank : public Adapter<LowRank> {
 public:
  /// Adds lora_A, lora_B and, for DoRA, lora_magnitude_vector below the leaf.
  LowRank(const Editor& editor,
          const LeafInfo& leaf,
          const AdapterOptions& options);

  /// Handles of the two weights exist once all adapters are built.
  void set_weights(titan_parameter* a_RI, titan_parameter* b_OR);
  std::string a_fqn() const { return leaf_.fqn + ".lora_A"; }
  std::string b_fqn() const { return leaf_.fqn + ".lora_B"; }
  const LeafInfo& leaf() const { return leaf_; }

  Tensor forward(Context& ctx, const Tensor& x_TI, const Tensor& y_TO) const;

 private:
  Tensor row_scale(Context& ctx) const;

  LeafInfo leaf_;
  AdapterOptions options_;
  Linear lora_a_, lora_b_;
  std::optional<Parameter> magnitude_O_;
  Parameter weight_OI_;
  std::optional<Parameter> bias_O_, a_RI_, b_OR_;
};

/// Lengths of the rows of `w_OI` + scale B A, in acc(dtype), without gradients:
/// the paper (section 4.3) and PEFT take them for constants.
Tensor row_lengths(const Tensor& w_OI,
                   const Tensor& a_RI,
                   const Tensor& b_OR,
                   double scale);

}  // namespace titan::lora
