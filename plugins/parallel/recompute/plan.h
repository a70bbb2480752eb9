// SPDX-License-Identifier: BSD-3-Clause
// Which items compute their forward again in backward (phase recompute).
#pragma once

#include <string_view>

#include <titan/json.hpp>
#include <titan/sdk/planner.hpp>

namespace titan::recompute_plan {

class RecomputePlanner {
 public:
  static constexpr std::string_view kPhase = "recompute";
  explicit RecomputePlanner(const Config&) {}

  /// Pure. Request and answer: docs/parallelism.md.
  Json plan(const Json& request) const;
};

}  // namespace titan::recompute_plan
