// SPDX-License-Identifier: BSD-3-Clause
// The folder that holds a run's checkpoints: their names, which is the newest
// that can be trusted, what a kill left behind, and which are old enough to
// go. Names that are not ours are never touched.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/checkpoint/checkpoint_reader.h"
#include "core/checkpoint/storage.h"

namespace titan::checkpoint {

/// "step_00000100"
std::string step_folder_name(std::int64_t step);

struct CheckpointEntry {
  std::int64_t step = 0;
  std::filesystem::path path;
};

/// By rising step, checked or not; in an object store those that have a
/// manifest. A checkpoint that a kill caught while it
/// was being replaced (`.step_N.old` without `step_N`) counts as step N.
std::vector<CheckpointEntry> list_checkpoints(
    const FileSystem& files,
    const std::filesystem::path& folder);

struct LatestCheckpoint {
  std::optional<CheckpointReader> reader;  // none: start from the beginning
  std::vector<std::string> rejected;  // newer ones and why each was passed over
};

/// Opens the newest checkpoint that is complete and passes `verification`. An
/// absent or empty folder has none. The caller reports `rejected`.
LatestCheckpoint latest_checkpoint(
    const FileSystem& files,
    const std::filesystem::path& folder,
    Verification verification = Verification::kAutomatic);

/// The checkpoint that `path` is, whose damage is a UserError, or the newest
/// good one in the folder that it is.
LatestCheckpoint find_checkpoint(
    const FileSystem& files,
    const std::filesystem::path& path,
    Verification verification = Verification::kAutomatic);

/// Which checkpoints stay.
struct Retention {
  std::int64_t keep = 0;        // the newest complete ones, at least 1
  std::int64_t keep_every = 0;  // also steps that are multiples; 0: none
  /// The one that this process has just written and synced: trusted without
  /// reading it again. -1: none.
  std::int64_t trusted_step = -1;
};

/// Checkpoints that are older than the newest `keep` complete ones, of which
/// at least one passes its checksums; where none of the newest does, more are
/// kept. Damaged newer ones stay, for a person to look at.
std::vector<CheckpointEntry> checkpoints_to_prune(
    const FileSystem& files,
    const std::filesystem::path& folder,
    const Retention& retention);

/// Deletes checkpoints_to_prune(). Returns their paths. One process at a time.
std::vector<std::filesystem::path> prune_checkpoints(
    FileSystem& files,
    const std::filesystem::path& folder,
    const Retention& retention);

/// Renames checkpoints beyond `step` to `step_N.previous`, replacing what had
/// that name (in an object store their manifests, to manifest.previous.json): a
/// run that starts again before them must neither be resumed from them nor see
/// them counted as its newest. Returns their former paths. One process at a
/// time.
std::vector<std::filesystem::path> set_aside_later(
    FileSystem& files,
    const std::filesystem::path& folder,
    std::int64_t step);

/// Removes what a killed save or prune left (in an object store: what has no
/// manifest), and puts a checkpoint caught in
/// its replacement back. Not while another process saves here.
void clean_leftovers(FileSystem& files, const std::filesystem::path& folder);

/// Names beside the checkpoint while it is written, replaced and removed. The
/// token tells apart the saves of ranks that agreed on it (may be empty).
std::filesystem::path temporary_path(const std::filesystem::path& folder,
                                     std::int64_t step,
                                     std::string_view token);
std::filesystem::path replaced_path(const std::filesystem::path& folder,
                                    std::int64_t step);
std::filesystem::path removed_path(const std::filesystem::path& folder,
                                   std::int64_t step);

}  // namespace titan::checkpoint
