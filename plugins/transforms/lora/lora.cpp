// SPDX-License-Identifier: BSD-3-Clause
#include "plugins/transforms/lora/lora.h"

#include <algorithm>
#include <map>

#include <titan/error.h>
#include <titan/sdk/functions.hpp>

namespace titan::lora {
namespace {

constexpr std::string_view kLinear = "titan.linear/1";

// Why a leaf cannot be adapted; empty when it can.
std::string refusal(const LeafInfo& leaf) {
  if (leaf.op_id != kLinear) return "it is " + leaf.op_id;
  if (leaf.flags & TITAN_LEAF_HEAD)
    return "it is the head, whose loss is fused with its weight";
  if (leaf.flags & TITAN_LEAF_TIED)
    return "its weight is tied to another layer's";
  if (leaf.flags & TITAN_LEAF_ADAPTED) return "it is adapted already";
  return "";
}

// Marks what the pattern adapts. A pattern for nothing is an error with the
// reason of the first leaf that it would have meant.
void choose(const Editor& editor,
            const std::string& pattern,
            const std::vector<LeafInfo>& leaves,
            std::vector<bool>& is_chosen) {
  std::string reason = "no layer has such a name (names end without .weight)";
  bool has_refused = false, has_any = false;
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (!editor.matches(pattern, leaves[i].fqn)) continue;
    const std::string why = refusal(leaves[i]);
    if (why.empty()) {
      is_chosen[i] = has_any = true;
    } else if (!has_refused) {
      has_refused = true;
      reason = text(leaves[i].fqn, ": ", why);
    }
  }
  TITAN_USER_CHECK(has_any,
                   "[adapter.config.targets] pattern '",
                   pattern,
                   "': expected a linear layer that can be adapted, got none; ",
                   reason);
}

}  // namespace

void Lora::apply(const Editor& editor) {
  const std::vector<LeafInfo> leaves = editor.leaves();
  std::vector<bool> is_chosen(leaves.size());
  for (const std::string& pattern : config_.targets)
    choose(editor, pattern, leaves, is_chosen);
  const AdapterOptions options{config_.rank, config_.scale(), config_.use_dora};
  for (size_t i = 0; i < leaves.size(); ++i)
    if (is_chosen[i]) adapters_.emplace_back(editor, leaves[i], options);

  std::map<std::string, titan_parameter*> weights;
  for (const LeafInfo& leaf : editor.leaves())
    if (!leaf.parameters.empty())
      weights[leaf.fqn] = leaf.parameters.front().handle;
  for (LowRank& adapter : adapters_) {
    adapter.set_weights(weights.at(adapter.a_fqn()),
                        weights.at(adapter.b_fqn()));
    editor.adapt(adapter.leaf(),
                 adapter,
                 config_.use_dora ? "lora.dora" : "lora.lora",
                 config_.use_dora ? TITAN_ADAPTER_DERIVES : 0);
  }
  editor.freeze_model();
}

// The adapter's parameters in the order that LowRank adds them: A, B, lengths.
void Lora::derive(const LeafValues& values, std::span<Tensor> out) const {
  out[2] = row_lengths(
      values.own(0), values.added(0), values.added(1), config_.scale());
}

void Lora::merge(const LeafValues& values, std::span<Tensor> out) const {
  const Tensor w_OI = values.own(0);
  const Tensor a_RI = values.added(0), b_OR = values.added(1);
  const Dtype real = accumulation_dtype(w_OI.dtype());
  Tensor merged_OI =
      w_OI.to(real) + b_OR.to(real).matmul(a_RI.to(real)) * config_.scale();
  if (config_.use_dora) {
    const Tensor lengths_O = row_lengths(w_OI, a_RI, b_OR, config_.scale());
    merged_OI =
        merged_OI * (values.added(2).to(real) / lengths_O).unsqueeze(-1);
  }
  out[0] = merged_OI.to(w_OI.dtype());
}

}  // namespace titan::lora
