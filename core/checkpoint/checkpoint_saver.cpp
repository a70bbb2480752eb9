// SPDX-License-Identifier: BSD-3-Clause
#include "core/checkpoint/checkpoint_saver.h"

#include <memory>
#include <utility>

#include <titan/error.h>

namespace titan::checkpoint {
namespace {

using Clock = std::chrono::steady_clock;

// A run that ends by an error still gives the ranks that live time to finish.
constexpr std::chrono::seconds kLeavingTime{30};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Tells who waits when the scope is left.
class CopyEnd {
 public:
  explicit CopyEnd(std::atomic<bool>& is_copied) : is_copied_(is_copied) {}
  ~CopyEnd() {
    is_copied_ = true;
    is_copied_.notify_all();
  }
  CopyEnd(const CopyEnd&) = delete;
  CopyEnd& operator=(const CopyEnd&) = delete;

 private:
  std::atomic<bool>& is_copied_;
};

// The same kind of error, which says where it comes from.
[[noreturn]] void rethrow_from_background(const std::exception_ptr& failure,
                                          std::int64_t step) {
  const std::string origin =
      text(" This is the save of step ",
           step,
           ", written in the background; the checkpoints before it stand.");
  try {
    std::rethrow_exception(failure);
  } catch (const UserError& error) {
    throw UserError(error.what() + origin);
  } catch (const DeviceError& error) {
    throw DeviceError(error.what() + origin);
  }
}

}  // namespace

CheckpointSaver::CheckpointSaver(FileSystem& files, SaverOptions options)
    : files_(files), options_(options) {
  options_.wait.is_cancelled = &is_cancelled_;
}

CheckpointSaver::~CheckpointSaver() {
  if (!thread_.joinable()) return;
  const auto deadline = Clock::now() + kLeavingTime;
  while (!is_done_ && Clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  is_cancelled_ = true;
  thread_.join();
}

void CheckpointSaver::start(CheckpointWriter writer, CheckpointState state) {
  const auto begin = Clock::now();
  wait();
  current_ = {};
  current_.step = writer.target().step;
  current_.path = writer.target().folder / step_folder_name(current_.step);
  current_.num_bytes = writer.num_bytes();
  if (!options_.is_async) {
    run(writer, state);
    current_.blocked_seconds = current_.total_seconds = seconds_since(begin);
    finished_.push_back(std::move(current_));
    return;
  }
  is_done_ = false;
  is_copied_ = false;
  thread_ = std::thread([this,
                         begin,
                         moved = std::move(writer),
                         state = std::move(state)]() mutable {
    try {
      run(moved, state);
      current_.total_seconds = seconds_since(begin);
    } catch (...) {
      failure_ = std::current_exception();
    }
    is_done_ = true;
  });
  current_.blocked_seconds = seconds_since(begin);
}

void CheckpointSaver::copy(CheckpointWriter& writer) {
  // Also when it fails: nothing is read any more.
  const CopyEnd end(is_copied_);
  writer.stage(buffer_);
}

void CheckpointSaver::wait_until_copied() {
  if (is_copied_) return;
  const auto begin = Clock::now();
  is_copied_.wait(false);
  // Of this save: the thread that writes does not touch it.
  current_.blocked_seconds += seconds_since(begin);
}

void CheckpointSaver::run(CheckpointWriter& writer,
                          const CheckpointState& state) {
  try {
    if (options_.is_async) copy(writer);
    writer.write();
  } catch (const std::exception& error) {
    writer.report_failure(error.what());
    throw;
  }
  if (writer.target().rank != 0) return;
  writer.publish(state, options_.wait);
  if (!options_.retention) return;
  Retention retention = *options_.retention;
  retention.trusted_step = current_.step;
  current_.pruned =
      prune_checkpoints(files_, writer.target().folder, retention);
}

void CheckpointSaver::join() {
  if (!thread_.joinable()) return;
  thread_.join();
  if (failure_)
    rethrow_from_background(std::exchange(failure_, nullptr), current_.step);
  finished_.push_back(std::move(current_));
}

std::optional<SaveOutcome> CheckpointSaver::poll() {
  if (is_done_) join();
  if (finished_.empty()) return std::nullopt;
  SaveOutcome outcome = std::move(finished_.front());
  finished_.erase(finished_.begin());
  return outcome;
}

void CheckpointSaver::wait() {
  join();
}

}  // namespace titan::checkpoint
