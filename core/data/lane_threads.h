// SPDX-License-Identifier: BSD-3-Clause
// Lanes read ahead by background threads: reading, tokenising and packing
// happen while the device computes. A lane's rows do not depend on who makes
// them or when, so threads change speed only. Queues are bounded: a lane waits
// once `rows_ahead` of its rows are ready.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/data/lane.h"

namespace titan {

using LaneStates = std::vector<std::shared_ptr<const LaneState>>;

/// For one consumer.
class LaneThreads {
 public:
  /// `plan` outlives this. `numbers` are the lanes' numbers; 0 threads: rows
  /// are made when they are asked for.
  LaneThreads(const LanePlan& plan,
              const std::vector<int64_t>& numbers,
              int num_threads,
              int64_t rows_ahead);
  ~LaneThreads();
  LaneThreads(const LaneThreads&) = delete;
  LaneThreads& operator=(const LaneThreads&) = delete;

  /// The next row of the lane at `index` of `numbers`; waits for it. Empty
  /// behind the lane's end. Throws what making it threw.
  Row take(size_t index);
  bool has_ended(size_t index) const { return states_[index]->has_ended; }
  /// Waits for the next row of the lane at `index` and leaves it there; throws
  /// as take() would.
  void wait_for(size_t index);

  /// Of each lane, behind the rows that were taken.
  const LaneStates& states() const { return states_; }
  /// Continues there; rows that are ready are dropped. The lanes are set back
  /// in the background: what goes wrong is thrown by take().
  void restore(LaneStates states);

 private:
  struct Ready {
    Row row;
    std::shared_ptr<const LaneState> state;
    std::exception_ptr error;
  };
  struct Work {
    std::unique_ptr<Lane> lane;
    std::shared_ptr<const LaneState> restore_to;  // Before the next row.
    std::deque<Ready> ready;
    int64_t num_made = 0;  // For the order in which lanes are served.
    bool is_busy = false;
    bool is_done = false;  // Ended, or threw.
  };

  void run();
  Work* find_work();
  void wait_for(Work& work, std::unique_lock<std::mutex>& lock);
  static Ready make_row(Work& work);
  static void add_ready(Work& work, Ready ready);
  void start();
  void stop();

  int num_threads_;
  size_t rows_ahead_;
  std::vector<Work> work_;
  LaneStates states_;
  std::mutex mutex_;
  std::condition_variable has_work_;
  std::condition_variable has_row_;
  bool stops_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace titan
