// SPDX-License-Identifier: BSD-3-Clause
#include "core/dispatch/op_counter.h"

namespace titan::dispatch {

void OpCounter::call(const c10::OperatorHandle& op,
                     c10::DispatchKeySet keys,
                     torch::jit::Stack* stack) {
  ++counts_[op.operator_name().name];
  call_next(op, keys, stack);
}

int64_t OpCounter::count(const std::string& name) const {
  const auto found = counts_.find(name);
  return found == counts_.end() ? 0 : found->second;
}

}  // namespace titan::dispatch
