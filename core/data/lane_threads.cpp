// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/lane_threads.h"

#include <algorithm>

namespace titan {

LaneThreads::LaneThreads(const LanePlan& plan,
                         const std::vector<int64_t>& numbers,
                         int num_threads,
                         int64_t rows_ahead)
    : num_threads_(num_threads),
      rows_ahead_(static_cast<size_t>(std::max<int64_t>(rows_ahead, 1))),
      work_(numbers.size()) {
  for (size_t i = 0; i < numbers.size(); ++i) {
    work_[i].lane = std::make_unique<Lane>(plan, numbers[i]);
    states_.push_back(
        std::make_shared<const LaneState>(work_[i].lane->state()));
  }
  start();
}

LaneThreads::~LaneThreads() {
  stop();
}

void LaneThreads::start() {
  stops_ = false;
  for (int i = 0; i < num_threads_; ++i)
    threads_.emplace_back([this] { run(); });
}

void LaneThreads::stop() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  has_work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

// The lane that is furthest behind: lanes are taken from in turn.
LaneThreads::Work* LaneThreads::find_work() {
  Work* found = nullptr;
  for (Work& work : work_) {
    if (work.is_busy || work.is_done || work.ready.size() >= rows_ahead_)
      continue;
    if (found == nullptr || work.num_made < found->num_made) found = &work;
  }
  return found;
}

LaneThreads::Ready LaneThreads::make_row(Work& work) {
  Ready ready;
  try {
    if (work.restore_to) work.lane->restore(*work.restore_to);
    work.restore_to = nullptr;
    work.lane->next_row(ready.row);
    ready.state = std::make_shared<const LaneState>(work.lane->state());
  } catch (...) {
    // Crosses to the consumer's thread, which rethrows it.
    ready.error = std::current_exception();
  }
  return ready;
}

void LaneThreads::add_ready(Work& work, Ready ready) {
  work.is_done = ready.error != nullptr || ready.state->has_ended;
  ++work.num_made;
  work.ready.push_back(std::move(ready));
}

void LaneThreads::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    Work* work = nullptr;
    has_work_.wait(lock,
                   [&] { return stops_ || (work = find_work()) != nullptr; });
    if (stops_) return;
    work->is_busy = true;
    lock.unlock();
    Ready ready = make_row(*work);
    lock.lock();
    work->is_busy = false;
    add_ready(*work, std::move(ready));
    has_row_.notify_all();
  }
}

void LaneThreads::wait_for(Work& work, std::unique_lock<std::mutex>& lock) {
  if (num_threads_ == 0) {
    if (work.ready.empty()) add_ready(work, make_row(work));
  } else {
    has_row_.wait(lock, [&] { return !work.ready.empty(); });
  }
  if (work.ready.front().error)
    std::rethrow_exception(work.ready.front().error);
}

void LaneThreads::wait_for(size_t index) {
  std::unique_lock lock(mutex_);
  wait_for(work_[index], lock);
}

Row LaneThreads::take(size_t index) {
  Work& work = work_[index];
  if (states_[index]->has_ended) return {};
  std::unique_lock lock(mutex_);
  wait_for(work, lock);
  Ready ready = std::move(work.ready.front());
  work.ready.pop_front();
  states_[index] = std::move(ready.state);
  lock.unlock();
  has_work_.notify_one();
  return std::move(ready.row);
}

void LaneThreads::restore(LaneStates states) {
  TITAN_CHECK_EQ(states.size(), work_.size(), "[lane threads] states");
  stop();
  for (size_t i = 0; i < work_.size(); ++i) {
    Work& work = work_[i];
    work.ready.clear();
    work.num_made = states[i]->num_rows;
    work.is_done = states[i]->has_ended;
    work.restore_to = states[i];
  }
  states_ = std::move(states);
  start();
}

}  // namespace titan
