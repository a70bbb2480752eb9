// SPDX-License-Identifier: BSD-3-Clause
// The program without its `main`: arguments in, exit code out, so that tests
// run it in their own process.
#pragma once

#include <exception>
#include <iosfwd>
#include <string>
#include <vector>

namespace titan::cli {

/// Exit codes: docs/debugging.md and docs/adr/0011.
inline constexpr int kExitDifferent = 1;  ///< As diff(1).
inline constexpr int kExitUserError = 2;
inline constexpr int kExitBug = 70;
inline constexpr int kExitDevice = 75;

/// Runs `titan` with `arguments` (without the program's name), writes help and
/// errors to `out` and `err`, and returns the process's exit code. Never
/// throws.
int run_titan(std::vector<std::string> arguments,
              std::ostream& out,
              std::ostream& err);

/// Writes what the person concerned must know of `error` to `err` and returns
/// the exit code of its kind.
int report_error(const std::exception& error, std::ostream& err);

}  // namespace titan::cli
