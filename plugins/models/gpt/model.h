// SPDX-License-Identifier: BSD-3-Clause
// The general decoder as a component: what the plugin registers. The network is
// in model.cpp.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include <titan/sdk/model.hpp>

#include "plugins/models/gpt/config.h"
#include "plugins/models/gpt/schema.h"

namespace titan::gpt {

class Network;

class Gpt {
 public:
  static constexpr std::string_view kSchema = kConfigSchema;
  static constexpr std::string_view kHfModelTypes[] =
      {"titan_gpt", "gpt2", "gpt_neox", "gemma2", "olmo2", "mixtral"};
  static std::span<const Flavor> flavors();

  explicit Gpt(const Config& config);
  ~Gpt();

  void build(Build b);
  double flops_per_token(int64_t seq_len) const;

  static Json config_from_hf(const Json& hf);
  Json config_to_hf() const;
  void describe_keys(Keys& keys) const;

 private:
  GptConfig config_;
  std::unique_ptr<Network> network_;
};

}  // namespace titan::gpt
