// SPDX-License-Identifier: BSD-3-Clause
#include "plugins/transforms/lora/adapter.h"

#include <cmath>

#include <titan/sdk/functions.hpp>

namespace titan::lora {
namespace {

// torch.nn.init.kaiming_uniform_ with a = sqrt(5): the bound is fan_in^-1/2.
Init a_init(int64_t fan_in) {
  const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
  return init::uniform(-bound, bound);
}

bool is_row_cut(const LeafParameter& weight) {
  return weight.shard.kind == TITAN_SHARD_ROW;
}

// A row cut divides the input features: A's columns follow them, and B stands
// behind the sum over ranks. A column cut divides the outputs: B's rows.
Shard a_shard(const LeafParameter& weight) {
  return is_row_cut(weight) ? weight.shard : replicate();
}
Shard b_shard(const LeafParameter& weight) {
  return is_row_cut(weight) ? replicate() : weight.shard;
}

}  // namespace

LowRank::LowRank(const Editor& editor,
                 const LeafInfo& leaf,
                 const AdapterOptions& options)
    : leaf_(leaf),
      options_(options),
      lora_a_(editor.below(leaf) / "lora_A",
              {leaf.parameters[0].sizes[1], options.rank},
              a_init(leaf.parameters[0].sizes[1]),
              a_shard(leaf.parameters[0])),
      lora_b_(editor.below(leaf) / "lora_B",
              {options.rank, leaf.parameters[0].sizes[0]},
              init::zeros(),
              b_shard(leaf.parameters[0])),
      weight_OI_(leaf.parameters[0].handle) {
  if (!options.use_dora) return;
  magnitude_O_.emplace(editor.below(leaf) / "lora_magnitude_vector" / "weight",
                       std::vector<int64_t>{leaf.parameters[0].sizes[0]},
                       init::ones(),
                       b_shard(leaf.parameters[0]));
  if (leaf.parameters.size() > 1) bias_O_.emplace(leaf.parameters[1].handle);
}

void LowRank::set_weights(titan_parameter* a_RI, titan_parameter* b_OR) {
  a_RI_.emplace(a_RI);
  b_OR_.emplace(b_OR);
}

Tensor LowRank::forward(Context& ctx,
                        const Tensor& x_TI,
                        const Tensor& y_TO) const {
  const Tensor update_TO = lora_b_(ctx, lora_a_(ctx, x_TI)) * options_.scale;
  if (!options_.use_dora) return y_TO + update_TO;
  const Tensor scale_O = row_scale(ctx);
  // The bias has no part in it: y = b + s (W x + update).
  const Tensor plain_TO = bias_O_ ? y_TO - (*bias_O_)(ctx) : y_TO;
  return y_TO + plain_TO * (scale_O - 1) + update_TO * scale_O;
}

Tensor LowRank::row_scale(Context& ctx) const {
  const Tensor magnitude_O = (*magnitude_O_)(ctx);
  const Tensor lengths_O = row_lengths(
      weight_OI_(ctx), (*a_RI_)(ctx), (*b_OR_)(ctx), options_.scale);
  return (magnitude_O.to(lengths_O.dtype()) / lengths_O)
      .to(magnitude_O.dtype());
}

Tensor row_lengths(const Tensor& w_OI,
                   const Tensor& a_RI,
                   const Tensor& b_OR,
                   double scale) {
  static constinit AtenOp norm{"aten::linalg_vector_norm"};
  const Dtype real = accumulation_dtype(w_OI.dtype());
  const Tensor sum_OI =
      w_OI.detach() + b_OR.detach().matmul(a_RI.detach()) * scale;
  return norm({sum_OI, 2.0, IntList{1}, false, real});
}

}  // namespace titan::lora
