// SPDX-License-Identifier: BSD-3-Clause
// Ctrl-C and SIGTERM as a question the training loop asks at each step
// boundary: finish the step, save, then exit. A second Ctrl-C leaves at once.
#pragma once

namespace titan {

enum class StopRequest {
  kNone,
  kInterrupt,  ///< SIGINT: a person
  kTerminate,  ///< SIGTERM: a launcher, scheduler or shutdown
};

/// Takes over SIGINT and SIGTERM and ignores SIGPIPE (a write to a closed
/// socket becomes an error of that write). Call once, before threads start.
void install_signal_handlers();

/// What has been asked so far; the first signal decides. One relaxed load.
/// Ranks must agree on it (the stop vote of the step), not act on it alone.
StopRequest stop_requested();

/// Forgets the request: a second run in one process, and tests.
void clear_stop_request();

/// 130 for Ctrl-C, 143 for SIGTERM, and 75 for SIGTERM under a launcher, which
/// then starts the job again; 0 if nothing was asked.
int exit_code_of(StopRequest request, bool is_under_launcher);

}  // namespace titan
