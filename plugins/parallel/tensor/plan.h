// SPDX-License-Identifier: BSD-3-Clause
// Which parameters are cut over tp and what happens around the modules that use
// them (phase tensor), from the sharding hints of the model alone.
#pragma once

#include <string_view>

#include <titan/json.hpp>
#include <titan/sdk/planner.hpp>

namespace titan::tensor_plan {

class TensorPlanner {
 public:
  static constexpr std::string_view kPhase = "tensor";
  explicit TensorPlanner(const Config&) {}

  /// Pure. Request and answer: docs/parallelism.md.
  Json plan(const Json& request) const;
};

}  // namespace titan::tensor_plan
