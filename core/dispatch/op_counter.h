// SPDX-License-Identifier: BSD-3-Clause
// Counts dispatcher calls by name: tests state what a step may call.
#pragma once

#include <map>
#include <string>

#include "core/dispatch/mode_stack.h"

namespace titan::dispatch {

class OpCounter : public Mode {
 public:
  void call(const c10::OperatorHandle& op,
            c10::DispatchKeySet keys,
            torch::jit::Stack* stack) override;

  /// Calls of "aten::mm" or "titan::swiglu" (all overloads).
  int64_t count(const std::string& name) const;
  const std::map<std::string, int64_t>& counts() const { return counts_; }

 private:
  std::map<std::string, int64_t> counts_;
};

}  // namespace titan::dispatch
