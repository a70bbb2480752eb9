// SPDX-License-Identifier: BSD-3-Clause
// The saves of one run on one rank, one at a time: at once, or by a thread of
// its own, which copies into a staging buffer while the caller only reads, and
// then writes. After publishing, rank 0 removes what the retention lets go.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <optional>
#include <thread>
#include <vector>

#include "core/checkpoint/checkpoint_folder.h"
#include "core/checkpoint/checkpoint_writer.h"
#include "core/checkpoint/staging_buffer.h"

namespace titan::checkpoint {

struct SaverOptions {
  bool is_async = false;
  std::optional<Retention> retention = {};  // none: all stay
  MarkerWait wait = {};  // its is_cancelled is the saver's own
};

/// A save that has ended well: this rank's part is on the device and, on rank
/// 0, the checkpoint is visible.
struct SaveOutcome {
  std::int64_t step = 0;
  std::filesystem::path path;  // of the checkpoint
  std::int64_t num_bytes = 0;  // of this rank's tensors
  double blocked_seconds = 0;  // that the caller waited
  double total_seconds = 0;    // from start() until all was done
  std::vector<std::filesystem::path> pruned;
};

/// Used by one thread.
class CheckpointSaver {
 public:
  /// `files` outlives the saver.
  CheckpointSaver(FileSystem& files, SaverOptions options);
  /// Waits for a save that is under way, half a minute for other ranks; its
  /// failure is lost: call wait() first.
  ~CheckpointSaver();
  CheckpointSaver(const CheckpointSaver&) = delete;
  CheckpointSaver& operator=(const CheckpointSaver&) = delete;

  /// Saves what was added to the writer, whose target all ranks agree on. In
  /// the background: waits for the save before and returns; what was added may
  /// be read, and must not change before wait_until_copied(). The failure of
  /// the save before is thrown here, that of this one by poll() or wait() (not
  /// in the background: here). Afterwards poll() has the outcome of the save
  /// before, if nobody has taken it.
  void start(CheckpointWriter writer, CheckpointState state);

  /// Returns when the values of the save that is under way may change.
  void wait_until_copied();

  /// The next outcome that nobody has taken; none while the save is under way.
  /// Throws what made the save fail.
  std::optional<SaveOutcome> poll();

  /// Waits for the save that is under way. Throws what made it fail.
  void wait();

  std::size_t staging_bytes() const { return buffer_.capacity_bytes(); }

 private:
  void copy(CheckpointWriter& writer);
  void run(CheckpointWriter& writer, const CheckpointState& state);
  void join();

  FileSystem& files_;
  SaverOptions options_;
  StagingBuffer buffer_;
  std::thread thread_;
  std::atomic<bool> is_done_ = false;       // of thread_
  std::atomic<bool> is_copied_ = true;      // by thread_, or it has failed
  std::atomic<bool> is_cancelled_ = false;  // stop waiting for other ranks
  SaveOutcome current_;
  std::exception_ptr failure_;
  std::vector<SaveOutcome> finished_;  // oldest first
};

}  // namespace titan::checkpoint
