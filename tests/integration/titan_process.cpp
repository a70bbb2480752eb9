// SPDX-License-Identifier: BSD-3-Clause
#include "tests/integration/titan_process.h"

#include <cstring>
#include <fstream>
#include <stdexcept>

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ioctl.h>  // FIONREAD
#include <sys/wait.h>
#include <unistd.h>

namespace titan::integration {
namespace {

// A run of these tests takes about a second; two busy cores take several.
constexpr std::chrono::seconds kLongestRun{60};

// The test itself may run under a launcher.
constexpr const char* kLauncherVariables[] = {"TORCHELASTIC_RUN_ID",
                                              "SLURM_JOB_ID"};

// A child that is not listened to blocks within 30 lines of log, so it cannot
// run away while the test is not scheduled.
constexpr int kPipeBytes = 4096;
constexpr int kLogLineBytes = 256;

std::vector<std::string> merged(Environment changes) {
  for (const char* name : kLauncherVariables) changes.try_emplace(name, "");
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (!changes.contains(std::string(text.substr(0, text.find('=')))))
      all.emplace_back(text);
  }
  for (const auto& [name, value] : changes)
    if (!value.empty()) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

struct Pipe {
  Pipe() {
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
    ::fcntl(ends[0], F_SETPIPE_SZ, kPipeBytes);
  }
  int ends[2];
};

void drain(int& from, std::string& into) {
  char buffer[4096];
  const ssize_t count = ::read(from, buffer, sizeof(buffer));
  if (count > 0) {
    into.append(buffer, static_cast<size_t>(count));
    return;
  }
  ::close(from);
  from = -1;
}

std::string proc_line(pid_t process, const char* file, std::string_view start) {
  std::ifstream lines("/proc/" + std::to_string(process) + "/" + file);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(start)) return line;
  return "";
}

}  // namespace

TitanProcess::TitanProcess(const std::vector<std::string>& arguments,
                           const Environment& environment)
    : deadline_(start_ + kLongestRun) {
  const Pipe out, err;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, err.ends[1], 2);
  std::vector<std::string> words = {TITAN_BINARY};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = merged(environment);
  const int failed = ::posix_spawn(&child_,
                                   TITAN_BINARY,
                                   &actions,
                                   nullptr,
                                   pointers(words).data(),
                                   pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  ::close(out.ends[1]);
  ::close(err.ends[1]);
  out_ = out.ends[0];
  err_ = err.ends[0];
  if (failed != 0) {
    close_pipes();
    throw std::runtime_error(std::string("posix_spawn " TITAN_BINARY ": ") +
                             std::strerror(failed));
  }
}

TitanProcess::~TitanProcess() {
  if (child_ > 0) {
    ::kill(child_, SIGKILL);
    reap();
  }
  close_pipes();
}

bool TitanProcess::wait_for_log(std::string_view text) {
  while (result_.err.find(text) == std::string::npos)
    if (!read_some(deadline_)) return false;
  return true;
}

void TitanProcess::listen(std::chrono::microseconds duration) {
  const auto until = std::min(deadline_, Clock::now() + duration);
  while (Clock::now() < until && read_some(until)) {
    // Each round reads what there is.
  }
}

void TitanProcess::wait_until_blocked() const {
  int waiting_bytes = 0;
  const auto is_asleep = [&] {
    return proc_line(child_, "status", "State:").find('S') != std::string::npos;
  };
  while (Clock::now() < deadline_ &&
         (waiting_bytes < kPipeBytes - kLogLineBytes || !is_asleep()))
    ::ioctl(err_, FIONREAD, &waiting_bytes);
}

void TitanProcess::send(int signal) {
  ::kill(child_, signal);
}

void TitanProcess::send_and_wait(int signal) const {
  const auto is_pending = [&] {
    const std::string line = proc_line(child_, "status", "ShdPnd:");
    const size_t digits = line.find_first_of("0123456789abcdef", 7);
    if (digits == std::string::npos) return false;
    return (std::stoull(line.substr(digits), nullptr, 16) >> (signal - 1) &
            1) != 0;
  };
  ::kill(child_, signal);
  while (Clock::now() < deadline_ && is_pending()) ::sched_yield();
}

Finished TitanProcess::finish() {
  while (read_some(deadline_)) {
    // Until both pipes are closed: the child is gone.
  }
  if (Clock::now() >= deadline_) {
    ::kill(child_, SIGKILL);
    result_.err += "\n[test] killed: the run was too long\n";
  }
  reap();
  return result_;
}

// False at `until`, or when there is nothing more to read.
bool TitanProcess::read_some(Clock::time_point until) {
  if (out_ < 0 && err_ < 0) return false;
  const auto rest = std::chrono::duration_cast<std::chrono::microseconds>(
      until - Clock::now());
  if (rest.count() <= 0) return false;
  const timespec timeout = {rest.count() / 1'000'000,
                            rest.count() % 1'000'000 * 1000};
  pollfd ready[2] = {{out_, POLLIN, 0}, {err_, POLLIN, 0}};
  if (::ppoll(ready, 2, &timeout, nullptr) <= 0) return Clock::now() < until;
  if (ready[0].revents != 0) drain(out_, result_.out);
  if (ready[1].revents != 0) drain(err_, result_.err);
  return true;
}

void TitanProcess::close_pipes() {
  for (int* end : {&out_, &err_}) {
    if (*end >= 0) ::close(*end);
    *end = -1;
  }
}

void TitanProcess::reap() {
  int status = 0;
  ::waitpid(child_, &status, 0);
  child_ = -1;
  if (WIFEXITED(status)) result_.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result_.signal = WTERMSIG(status);
  result_.seconds =
      std::chrono::duration<double>(Clock::now() - start_).count();
}

bool says(const Finished& run, const std::string& text) {
  return run.err.find(text) != std::string::npos;
}

Finished run_titan_process(const std::vector<std::string>& arguments,
                           const Environment& environment) {
  TitanProcess process(arguments, environment);
  return process.finish();
}

}  // namespace titan::integration
