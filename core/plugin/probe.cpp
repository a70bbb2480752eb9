// SPDX-License-Identifier: BSD-3-Clause
// fork without exec: the child has LibTorch and the host's tables already
// mapped, so a probe costs milliseconds instead of LibTorch's 0.25 s start.
#include "core/plugin/probe.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <titan/error.h>

#include "core/plugin/description.h"
#include "core/plugin/library.h"

namespace titan::plugin {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxReport = 4096;
constexpr rlim_t kExtraMemoryBytes = rlim_t{8} << 30;
constexpr rlim_t kExtraFiles = 1024;

/// What the child writes per target, then `size` bytes of text.
struct Report {
  std::int32_t code;  ///< 0 = well
  std::uint32_t size;
};

// ---- the child ----

void limit(int resource, rlim_t value) {
  rlimit now{};
  ::getrlimit(static_cast<__rlimit_resource>(resource), &now);
  if (now.rlim_max != RLIM_INFINITY && value > now.rlim_max)
    value = now.rlim_max;
  now.rlim_cur = value;
  ::setrlimit(static_cast<__rlimit_resource>(resource), &now);
}

rlim_t address_space_bytes() {
  unsigned long pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "re")) {
    if (std::fscanf(file, "%lu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return static_cast<rlim_t>(pages) * static_cast<rlim_t>(::getpagesize());
}

// Of the parent: each plugin in memory is one, so there can be thousands.
rlim_t highest_descriptor() {
  int highest = 0;
  if (DIR* folder = ::opendir("/proc/self/fd")) {
    while (const dirent* entry = ::readdir(folder))
      highest = std::max(highest, std::atoi(entry->d_name));
    ::closedir(folder);
  }
  return static_cast<rlim_t>(highest);
}

void confine(std::chrono::milliseconds timeout, std::size_t num_targets) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  for (const int signal :
       {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGTERM, SIGINT, SIGPIPE})
    ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_NOFILE, highest_descriptor() + kExtraFiles);
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(timeout).count() + 1;
  limit(RLIMIT_CPU, static_cast<rlim_t>(seconds) * num_targets);
  if (const rlim_t bytes = address_space_bytes(); bytes > 0)
    limit(RLIMIT_AS, bytes + kExtraMemoryBytes);
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (nowhere >= 0) ::dup2(nowhere, fd);
}

bool write_whole(int fd, const void* data, std::size_t size) {
  const auto* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t put = ::write(fd, at, size);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    at += put;
    size -= static_cast<std::size_t>(put);
  }
  return true;
}

bool report(int fd, int code, std::string_view words) {
  words = words.substr(0, kMaxReport);
  const Report head{code, static_cast<std::uint32_t>(words.size())};
  return write_whole(fd, &head, sizeof head) &&
         write_whole(fd, words.data(), words.size());
}

void probe_one(const ProbeTarget& target, const titan_host_api& host, int fd) {
  const Inspection& inspection = *target.inspection;
  try {
    const auto entry =
        open_library(target.staged, inspection.elf->build_id, inspection.path);
    require_same(describe_plugin(entry, host, inspection.path),
                 *inspection.manifest,
                 inspection.path);
    report(fd, 0, "");
  } catch (const UserError& error) {
    const int code = error.code();
    report(
        fd, code == 0 ? static_cast<int>(Code::kInternal) : code, error.what());
  }
}

[[noreturn]] void run_child(std::span<const ProbeTarget> targets,
                            const titan_host_api& host,
                            std::chrono::milliseconds timeout,
                            int fd) {
  // An exception that left this function would run the parent's code twice.
  try {
    confine(timeout, targets.size());
    for (const ProbeTarget& target : targets) probe_one(target, host, fd);
  } catch (...) {
    ::_exit(1);
  }
  ::_exit(0);
}

// ---- the parent ----

enum class Received { kAll, kEnd, kTimeout };

Received read_whole(int fd,
                    void* data,
                    std::size_t size,
                    Clock::time_point deadline) {
  auto* at = static_cast<char*>(data);
  while (size > 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - Clock::now());
    if (left.count() <= 0) return Received::kTimeout;
    pollfd waiting{fd, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(left.count()) + 1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return Received::kTimeout;
    const ssize_t got = ::read(fd, at, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Received::kEnd;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return Received::kAll;
}

Diagnostic diagnostic(Code code,
                      const ProbeTarget& target,
                      std::string_view what) {
  return {code,
          code_text(code,
                    target.inspection->path,
                    text(what, ". ", code_info(code).hint))};
}

Diagnostic timeout_diagnostic(const ProbeTarget& target,
                              std::chrono::milliseconds timeout) {
  return diagnostic(Code::kEntryTimeout,
                    target,
                    text("the plugin's entry did not return in a trial "
                         "process: expected under 100 ms, got no answer after ",
                         timeout.count(),
                         " ms"));
}

Diagnostic crash_diagnostic(const ProbeTarget& target, int status) {
  const std::string how = WIFSIGNALED(status)
                              ? text("signal ",
                                     WTERMSIG(status),
                                     " (",
                                     ::strsignal(WTERMSIG(status)),
                                     ')')
                              : text("an exit with code ", WEXITSTATUS(status));
  return diagnostic(Code::kProbeCrash,
                    target,
                    text("the plugin ended a trial process while it was loaded "
                         "and its entry called: expected an answer, got ",
                         how));
}

class Child {
 public:
  Child(std::span<const ProbeTarget> targets,
        const titan_host_api& host,
        std::chrono::milliseconds timeout)
      : timeout_(timeout) {
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0) throw_system_error("pipe2");
    process_ = ::fork();
    if (process_ == 0) run_child(targets, host, timeout, pipe[1]);
    ::close(pipe[1]);
    fd_ = pipe[0];
    if (process_ < 0) {
      ::close(fd_);
      throw_system_error("fork");
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    ::close(fd_);
    if (is_reaped_) return;
    kill_child();  // it has reported all it had to, or hangs
    reap();
  }

  /// Result for the next target, and whether the child can go on.
  std::optional<Diagnostic> next(const ProbeTarget& target) {
    const auto deadline = Clock::now() + timeout_;
    Report head{};
    Received received = read_whole(fd_, &head, sizeof head, deadline);
    std::string words(std::min<std::size_t>(head.size, kMaxReport), '\0');
    if (received == Received::kAll)
      received = read_whole(fd_, words.data(), words.size(), deadline);
    if (received == Received::kAll) {
      if (head.code == 0) return std::nullopt;
      return Diagnostic{Code{head.code}, words};
    }
    is_over_ = true;
    if (received == Received::kTimeout)
      return timeout_diagnostic(target, timeout_);
    return crash_diagnostic(target, reap());
  }

  bool is_over() const { return is_over_; }

 private:
  [[noreturn]] static void throw_system_error(std::string_view call) {
    throw DeviceError(text("[plugin] cannot start a trial process: expected ",
                           call,
                           " to work, got '",
                           std::strerror(errno),
                           "'. Free processes, memory or descriptors."));
  }

  void kill_child() { ::kill(process_, SIGKILL); }

  /// Waits for the end of a child whose pipe is closed; one that closed it and
  /// goes on running is killed.
  int reap() {
    const auto deadline = Clock::now() + timeout_;
    int status = 0;
    for (;;) {
      const bool is_late = Clock::now() >= deadline;
      if (is_late) kill_child();
      const pid_t ended = ::waitpid(process_, &status, is_late ? 0 : WNOHANG);
      if (ended == process_ || (ended < 0 && errno != EINTR)) break;
      ::poll(nullptr, 0, 1);
    }
    is_reaped_ = true;
    return status;
  }

  std::chrono::milliseconds timeout_;
  pid_t process_ = -1;
  int fd_ = -1;
  bool is_over_ = false;
  bool is_reaped_ = false;
};

}  // namespace

std::vector<std::optional<Diagnostic>> probe_plugins(
    std::span<const ProbeTarget> targets,
    const titan_host_api& host,
    std::chrono::milliseconds timeout) {
  std::vector<std::optional<Diagnostic>> out;
  while (out.size() < targets.size()) {
    Child child(targets.subspan(out.size()), host, timeout);
    while (out.size() < targets.size() && !child.is_over())
      out.push_back(child.next(targets[out.size()]));
  }
  return out;
}

}  // namespace titan::plugin
