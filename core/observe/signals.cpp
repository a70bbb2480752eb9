// SPDX-License-Identifier: BSD-3-Clause
// The handler only touches a lock-free atomic and _exit: nothing else that
// we need is async-signal-safe (signal-safety(7)).
#include "core/observe/signals.h"

#include <atomic>
#include <cerrno>
#include <cstring>

#include <signal.h>
#include <unistd.h>  // _exit

#include <titan/error.h>

namespace titan {
namespace {

constexpr int kExitInterrupted = 128 + SIGINT;  // 130
constexpr int kExitTerminated = 128 + SIGTERM;  // 143
constexpr int kExitRestartable = 75;

std::atomic<StopRequest> request{StopRequest::kNone};
static_assert(std::atomic<StopRequest>::is_always_lock_free);

void on_signal(int number) {
  auto expected = StopRequest::kNone;
  const auto wanted =
      number == SIGINT ? StopRequest::kInterrupt : StopRequest::kTerminate;
  const bool is_first = request.compare_exchange_strong(expected, wanted);
  if (is_first) return;
  // SIGTERM then Ctrl-C is a person who does not want to wait either. A second
  // SIGTERM changes nothing: launchers repeat it, and SIGKILL is theirs.
  if (number == SIGINT) _exit(kExitInterrupted);
}

void install(int number, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  // Restart interrupted reads and writes: the request is polled, so nothing
  // has to wake up for it.
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  TITAN_CHECK(sigaction(number, &action, nullptr) == 0, std::strerror(errno));
}

}  // namespace

void install_signal_handlers() {
  install(SIGINT, on_signal);
  install(SIGTERM, on_signal);
  install(SIGPIPE, SIG_IGN);
}

StopRequest stop_requested() {
  return request.load(std::memory_order_relaxed);
}

void clear_stop_request() {
  request.store(StopRequest::kNone);
}

int exit_code_of(StopRequest asked, bool is_under_launcher) {
  switch (asked) {
    case StopRequest::kInterrupt:
      return kExitInterrupted;
    case StopRequest::kTerminate:
      return is_under_launcher ? kExitRestartable : kExitTerminated;
    case StopRequest::kNone:
      break;
  }
  return 0;
}

}  // namespace titan
