// SPDX-License-Identifier: BSD-3-Clause
// Qwen3.5 as a component: what the plugin registers. The network is in
// model.cpp.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include <titan/sdk/model.hpp>

#include "plugins/models/qwen3_5/config.h"

namespace titan::qwen3_5 {

class Network;

class Qwen35 {
 public:
  static constexpr std::string_view kSchema = kConfigSchema;
  static constexpr std::string_view kHfModelTypes[] = {"qwen3_5_text",
                                                       "qwen3_5",
                                                       "qwen3_5_moe_text",
                                                       "qwen3_5_moe"};
  static std::span<const Flavor> flavors();

  explicit Qwen35(const Config& config);
  ~Qwen35();

  void build(Build b);
  double flops_per_token(int64_t seq_len) const;

  static Json config_from_hf(const Json& hf);
  Json config_to_hf() const;
  void describe_keys(Keys& keys) const;

 private:
  Qwen35Config config_;
  std::unique_ptr<Network> network_;
};

}  // namespace titan::qwen3_5
