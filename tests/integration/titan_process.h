// SPDX-License-Identifier: BSD-3-Clause
// The real `titan` binary as a child process: start it, wait for what it says,
// send it signals, collect what it wrote. Every wait has a deadline after which
// the child is killed and the test fails, so that a hang cannot outlive a test.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>  // pid_t

namespace titan::integration {

struct Finished {
  int exit_code = -1;    // -1: ended by `signal`
  int signal = 0;        // 0: it exited
  std::string out;       // stdout
  std::string err;       // stderr: the log
  double seconds = 0.0;  // from start to end
};

/// Environment variables that differ from the test's own; empty = unset.
using Environment = std::map<std::string, std::string>;

class TitanProcess {
 public:
  explicit TitanProcess(const std::vector<std::string>& arguments,
                        const Environment& environment = {});
  ~TitanProcess();
  TitanProcess(const TitanProcess&) = delete;
  TitanProcess& operator=(const TitanProcess&) = delete;

  /// What the log holds so far.
  const std::string& log() const { return result_.err; }
  /// True once the log holds `text`; false when the child ended without it.
  bool wait_for_log(std::string_view text);
  /// Reads what the child says for `duration`, or until it ends.
  void listen(std::chrono::microseconds duration);
  /// Until the child sleeps in a write to its log, which nobody reads.
  void wait_until_blocked() const;
  void send(int signal);
  /// send(), then until the child's handler has the signal.
  void send_and_wait(int signal) const;
  /// Until the child is gone.
  Finished finish();

 private:
  using Clock = std::chrono::steady_clock;
  bool read_some(Clock::time_point until);
  void close_pipes();
  void reap();

  Clock::time_point start_ = Clock::now();
  Clock::time_point deadline_;
  pid_t child_ = -1;
  int out_ = -1;
  int err_ = -1;
  Finished result_;
};

/// Whether its log holds `text`.
bool says(const Finished& run, const std::string& text);

/// Runs it to the end.
Finished run_titan_process(const std::vector<std::string>& arguments,
                           const Environment& environment = {});

}  // namespace titan::integration
