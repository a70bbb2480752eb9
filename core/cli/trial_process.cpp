// SPDX-License-Identifier: BSD-3-Clause
#include "core/cli/trial_process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <titan/error.h>

namespace titan::cli {
namespace {

using TrialClock = std::chrono::steady_clock;

[[noreturn]] void throw_start_error(std::string_view call) {
  throw DeviceError(text("[trial] cannot start a process: expected ",
                         call,
                         " to work, got '",
                         std::strerror(errno),
                         "'. Free processes, memory or descriptors."));
}

// Between fork and exec only what a signal handler may call: other threads may
// have held any lock.
[[noreturn]] void become_trial(char* const* words, int output) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::execv("/proc/self/exe", words);
  ::_exit(127);
}

/// Until the other end closes; false when `deadline` came first.
bool read_until(int fd, TrialClock::time_point deadline, std::string& out) {
  std::array<char, 4096> room{};
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - TrialClock::now());
    if (left.count() <= 0) return false;
    pollfd waiting{fd, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(left.count()) + 1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return false;
    const ssize_t got = ::read(fd, room.data(), room.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    out.append(room.data(), static_cast<size_t>(got));
  }
}

int wait_for(pid_t process) {
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

TrialResult run_trial(const std::vector<std::string>& arguments,
                      std::chrono::seconds timeout) {
  std::vector<std::string> kept = {"titan"};
  kept.insert(kept.end(), arguments.begin(), arguments.end());
  std::vector<char*> words;
  for (std::string& word : kept) words.push_back(word.data());
  words.push_back(nullptr);
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) throw_start_error("pipe2");
  const pid_t process = ::fork();
  if (process == 0) become_trial(words.data(), pipe[1]);
  ::close(pipe[1]);
  if (process < 0) {
    ::close(pipe[0]);
    throw_start_error("fork");
  }
  TrialResult result;
  const bool has_ended =
      read_until(pipe[0], TrialClock::now() + timeout, result.output);
  ::close(pipe[0]);
  if (!has_ended) ::kill(process, SIGKILL);
  const int status = wait_for(process);
  if (!has_ended) {
    result.problem = text("no end within ", timeout.count(), " s");
  } else if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    result.problem = text("signal ", signal, " (", ::strsignal(signal), ')');
  } else {
    result.exit_code = WEXITSTATUS(status);
  }
  return result;
}

}  // namespace titan::cli
