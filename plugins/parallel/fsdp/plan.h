// SPDX-License-Identifier: BSD-3-Clause
// Which parameters travel together, and who keeps them (phase data).
#pragma once

#include <string_view>

#include <titan/json.hpp>
#include <titan/sdk/planner.hpp>

namespace titan::fsdp_plan {

class FsdpPlanner {
 public:
  static constexpr std::string_view kPhase = "data";
  explicit FsdpPlanner(const Config&) {}

  /// Pure. Request and answer: docs/parallelism.md.
  Json plan(const Json& request) const;
};

}  // namespace titan::fsdp_plan
