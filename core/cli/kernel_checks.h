// SPDX-License-Identifier: BSD-3-Clause
// The checks of `titan plugin test` that run code of a kernel, in this process.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/cli/check_report.h"
#include "core/op/kernel.h"

namespace titan::cli {

struct KernelCheckOptions {
  uint64_t seed = 7;
  /// Called before each case, so that a crash has a name.
  std::function<void(const std::string&)> on_case;
};

/// Its op's cases with dense inputs, then with gaps between rows.
std::vector<Check> check_kernel_component(
    const std::shared_ptr<const op::Kernel>& kernel,
    const KernelCheckOptions& options);

}  // namespace titan::cli
