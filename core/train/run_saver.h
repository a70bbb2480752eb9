// SPDX-License-Identifier: BSD-3-Clause
// Saves of a run: what of its state goes into a checkpoint, and which of the
// ranks that hold the same elements writes them. Reading: run_state.h.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <c10/core/ScalarType.h>

#include "core/checkpoint/checkpoint_saver.h"
#include "core/checkpoint/storage.h"
#include "core/train/training.h"

namespace titan::train {

/// Role of the averages of weights (ema.h) in a checkpoint.
inline constexpr const char* kEmaRole = "ema";

/// What a checkpoint carries of the run beside its state.
struct RunRecord {
  std::string recipe_json = "{}";   // resolved
  std::string plugins_json = "{}";  // lock
};

enum class SaveContent {
  kFull,   // a run can be resumed from it
  kModel,  // parameters only
};

struct RunSaveOptions {
  checkpoint::SaverOptions saver = {};
  SaveContent content = SaveContent::kFull;
  /// Of the parameters of a kModel save; none: as they are.
  std::optional<at::ScalarType> dtype = {};
};

/// The saves of one run into one folder, on one rank. Used by one thread.
class RunSaver {
 public:
  /// All but the strings are borrowed.
  RunSaver(Training& training,
           checkpoint::FileSystem& files,
           std::filesystem::path folder,
           RunRecord record,
           RunSaveOptions options = {});
  ~RunSaver();
  RunSaver(const RunSaver&) = delete;
  RunSaver& operator=(const RunSaver&) = delete;

  /// Saves step `training.steps_done`, as CheckpointSaver::start does.
  /// The first call is collective over the mesh: the folder is prepared and a
  /// name for the series agreed on. No other is.
  void start();

  /// As in CheckpointSaver.
  std::optional<checkpoint::SaveOutcome> poll() { return saver_.poll(); }
  void wait() { saver_.wait(); }
  /// In the background also called by Training::before_update.
  void wait_until_copied() { saver_.wait_until_copied(); }

 private:
  void agree_on_series();
  std::string token() const;
  void add_tensors(checkpoint::CheckpointWriter& writer) const;

  Training& training_;
  checkpoint::FileSystem& files_;
  std::filesystem::path folder_;
  RunRecord record_;
  RunSaveOptions options_;
  checkpoint::CheckpointSaver saver_;
  std::string series_;     // empty before the first save
  int64_t num_saves_ = 0;  // of the series
};

/// One save, at once. Collective over the mesh; the folder appears whole or not
/// at all. Returns the checkpoint's folder, which every rank may read.
std::filesystem::path save_run(Training& training,
                               checkpoint::FileSystem& files,
                               const std::filesystem::path& folder,
                               const RunRecord& record);

}  // namespace titan::train
