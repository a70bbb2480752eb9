// SPDX-License-Identifier: BSD-3-Clause
// Turns spans on for a window of steps and writes what they recorded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace titan {

struct ProfilerOptions {
  int64_t start_step = 0;  ///< the first step recorded
  int64_t num_steps = 0;   ///< 0: never record
  /// Gets trace.json and spans.jsonl, or trace.rank<r>.json and
  /// spans.rank<r>.jsonl from a process of rank r > 0.
  std::filesystem::path folder;
};

/// One per process, driven by the thread of its first rank; the threads of
/// other ranks are recorded with it. A trace that cannot be written is a
/// warning: profiling never stops training.
class Profiler {
 public:
  explicit Profiler(ProfilerOptions options);
  ~Profiler();
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  void begin_step(int64_t step);

  /// After the window's last step: stops recording, writes the files and logs
  /// where they are.
  void end_step(int64_t step);

  /// Writes what a window cut short (end of the run, stop request) recorded.
  void finish();

  bool is_recording() const { return is_recording_; }

  /// The table of the window that was written last; "" before.
  const std::string& table() const { return table_; }

 private:
  void write();

  ProfilerOptions options_;
  bool is_recording_ = false;
  bool is_done_ = false;
  std::string table_;
};

}  // namespace titan
