// SPDX-License-Identifier: BSD-3-Clause
// Low-rank adapters as a transform: which layers, what is trained, how they are
// merged, and the files that PEFT reads and writes (peft.cpp).
#pragma once

#include <deque>
#include <string_view>

#include <titan/sdk/transform.hpp>

#include "plugins/transforms/lora/adapter.h"
#include "plugins/transforms/lora/config.h"

namespace titan::lora {

class Lora {
 public:
  static constexpr std::string_view kSchema = kConfigSchema;
  explicit Lora(const Config& config) : config_(config) {}

  /// UserError for a pattern that adapts nothing.
  void apply(const Editor& editor);
  /// DoRA's magnitudes start as the lengths of the rows.
  void derive(const LeafValues& values, std::span<Tensor> out) const;
  void merge(const LeafValues& values, std::span<Tensor> out) const;

  /// adapter_config.json of PEFT for these modules.
  Json describe_file(const Json& modules) const;
  /// UserError when PEFT's file has other settings than the recipe, or some
  /// that have no counterpart here.
  void check_file(const Json& file) const;

 private:
  LoraConfig config_;
  std::deque<LowRank> adapters_;  // never moves its elements
};

}  // namespace titan::lora
