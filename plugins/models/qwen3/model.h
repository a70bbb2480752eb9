// SPDX-License-Identifier: BSD-3-Clause
// Qwen3 as a component: what the plugin registers. The network is in
// model.cpp.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include <titan/sdk/model.hpp>

#include "plugins/models/qwen3/config.h"

namespace titan::qwen3 {

class Network;

class Qwen3 {
 public:
  static constexpr std::string_view kSchema = kConfigSchema;
  static constexpr std::string_view kHfModelTypes[] = {"qwen3", "qwen3_moe"};
  static std::span<const Flavor> flavors();

  explicit Qwen3(const Config& config);
  ~Qwen3();

  void build(Build b);
  double flops_per_token(int64_t seq_len) const;

  static Json config_from_hf(const Json& hf);
  Json config_to_hf() const;
  void describe_keys(Keys& keys) const;

 private:
  Qwen3Config config_;
  std::unique_ptr<Network> network_;
};

}  // namespace titan::qwen3
