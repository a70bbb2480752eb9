// SPDX-License-Identifier: BSD-3-Clause
// Inside a step nothing waits for the device: this mode makes an op that reads
// a tensor's value on the host (item, nonzero, masked_select, ...) an error.
#pragma once

#include "core/dispatch/mode_stack.h"

namespace titan::dispatch {

class NoSyncCheck : public Mode {
 public:
  void call(const c10::OperatorHandle& op,
            c10::DispatchKeySet keys,
            torch::jit::Stack* stack) override;
};

}  // namespace titan::dispatch
