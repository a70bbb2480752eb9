// SPDX-License-Identifier: BSD-3-Clause
// Llama 3 as a component: what the plugin registers. The network is in
// model.cpp.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include <titan/sdk/model.hpp>

#include "plugins/models/llama3/config.h"

namespace titan::llama3 {

class Network;

class Llama3 {
 public:
  static constexpr std::string_view kSchema = kConfigSchema;
  static constexpr std::string_view kHfModelTypes[] = {"llama"};
  static std::span<const Flavor> flavors();

  explicit Llama3(const Config& config);
  ~Llama3();

  void build(Build b);
  double flops_per_token(int64_t seq_len) const;

  static Json config_from_hf(const Json& hf);
  Json config_to_hf() const;
  void describe_keys(Keys& keys) const;

 private:
  LlamaConfig config_;
  std::unique_ptr<Network> network_;
};

}  // namespace titan::llama3
