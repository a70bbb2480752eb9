// SPDX-License-Identifier: BSD-3-Clause
// Selective recompute: outputs of listed ops are kept in forward and given
// back, without running the op, when the segment is recomputed in backward.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>

#include "core/dispatch/mode_stack.h"

namespace titan::dispatch {

/// Outputs kept by one segment, by op, in call order.
class RecomputeCache {
 public:
  using Outputs = std::vector<c10::IValue>;
  std::map<std::string, std::deque<Outputs>> outputs;
  bool empty() const;
};

/// What both share: which ops, and where their outputs are kept.
class RecomputeMode : public Mode {
 public:
  RecomputeMode(std::set<std::string> ops, RecomputeCache& cache)
      : ops_(std::move(ops)), cache_(cache) {}

 protected:
  std::set<std::string> ops_;
  RecomputeCache& cache_;
};

/// Forward: runs everything, keeps the outputs of `ops` ("titan::attention").
class SaveOutputs final : public RecomputeMode {
 public:
  using RecomputeMode::RecomputeMode;
  void call(const c10::OperatorHandle& op,
            c10::DispatchKeySet keys,
            torch::jit::Stack* stack) override;
};

/// Recompute: takes kept outputs out of the cache instead of running the op.
/// BugError when the recompute calls a listed op more often than forward did.
class ReuseOutputs final : public RecomputeMode {
 public:
  using RecomputeMode::RecomputeMode;
  void call(const c10::OperatorHandle& op,
            c10::DispatchKeySet keys,
            torch::jit::Stack* stack) override;
};

}  // namespace titan::dispatch
