// SPDX-License-Identifier: BSD-3-Clause
// This program again, in a process that may crash or hang. Unlike the loader's
// probe it is executed anew: kernels need threads, which a fork does not have.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace titan::cli {

struct TrialResult {
  std::string output;   ///< stdout and stderr in one
  std::string problem;  ///< how it ended otherwise than by an exit; empty: so
  int exit_code = 0;
};

/// Runs this executable with `arguments` and waits for it, at most `timeout`.
/// DeviceError when no process can be started.
TrialResult run_trial(const std::vector<std::string>& arguments,
                      std::chrono::seconds timeout);

}  // namespace titan::cli
