// SPDX-License-Identifier: BSD-3-Clause
// Which items a stage runs, and in which order its microbatches (phase
// pipeline).
#pragma once

#include <string_view>

#include <titan/json.hpp>
#include <titan/sdk/planner.hpp>

namespace titan::pipeline_plan {

class PipelinePlanner {
 public:
  static constexpr std::string_view kPhase = "pipeline";
  explicit PipelinePlanner(const Config&) {}

  /// Pure. Request and answer: docs/parallelism.md.
  Json plan(const Json& request) const;
};

}  // namespace titan::pipeline_plan
