// SPDX-License-Identifier: BSD-3-Clause
// DeepSeek-V3 as a component: what the plugin registers. The network is in
// model.cpp.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include <titan/sdk/model.hpp>

#include "plugins/models/deepseek_v3/config.h"

namespace titan::deepseek_v3 {

class Network;

class DeepseekV3 {
 public:
  static constexpr std::string_view kSchema = kConfigSchema;
  static constexpr std::string_view kHfModelTypes[] = {"deepseek_v3",
                                                       "deepseek_v2",
                                                       "kimi_k2"};
  static std::span<const Flavor> flavors();

  explicit DeepseekV3(const Config& config);
  ~DeepseekV3();

  void build(Build b);
  double flops_per_token(int64_t seq_len) const;

  static Json config_from_hf(const Json& hf);
  Json config_to_hf() const;
  void describe_keys(Keys& keys) const;

 private:
  DeepseekConfig config_;
  std::unique_ptr<Network> network_;
};

}  // namespace titan::deepseek_v3
