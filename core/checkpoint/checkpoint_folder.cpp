// SPDX-License-Identifier: BSD-3-Clause
#include "core/checkpoint/checkpoint_folder.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>
#include <utility>

#include <titan/error.h>

namespace titan::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step_";
constexpr std::string_view kTemporary = ".tmp";
constexpr std::string_view kReplaced = ".old";
constexpr std::string_view kRemoved = ".removed";
constexpr std::size_t kStepDigits = 8;
constexpr std::string_view kPreviousManifest = "manifest.previous.json";

fs::path hidden_path(const fs::path& folder,
                     std::int64_t step,
                     std::string_view ending) {
  return folder / text('.', step_folder_name(step), ending);
}

std::optional<std::int64_t> step_of(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const std::string_view digits = name.substr(kPrefix.size());
  std::int64_t step = -1;
  std::from_chars(digits.data(), digits.data() + digits.size(), step);
  // Only what we would write ourselves: "step_5" and "step_x" are foreign.
  if (step < 0 || step_folder_name(step) != name) return std::nullopt;
  return step;
}

// Step of `.step_N<ending>` and `.step_N.<token><ending>`.
std::optional<std::int64_t> hidden_step_of(std::string_view name,
                                           std::string_view ending) {
  if (!name.starts_with('.') || !name.ends_with(ending)) return std::nullopt;
  name = name.substr(1, name.size() - 1 - ending.size());
  return step_of(name.substr(0, name.find('.')));
}

// Whether the checkpoint is complete; where it is not, it does not count.
bool passes(const FileSystem& files,
            const fs::path& path,
            Verification verification) {
  try {
    verify_checkpoint(path, verification, files);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

// Index of the oldest of the newest checkpoints to keep.
std::size_t oldest_to_keep(const FileSystem& files,
                           const std::vector<CheckpointEntry>& entries,
                           const Retention& retention) {
  // Nothing can go, so nothing need be read.
  if (std::cmp_less_equal(entries.size(), retention.keep)) return 0;
  std::int64_t num_complete = 0;
  bool is_one_trusted = false;
  for (std::size_t i = entries.size(); i-- > 0;) {
    const bool was_just_saved = entries[i].step == retention.trusted_step;
    if (!was_just_saved &&
        !passes(files, entries[i].path, Verification::kSizes))
      continue;
    ++num_complete;
    // Checksums are read only until one checkpoint has passed.
    is_one_trusted = is_one_trusted || was_just_saved ||
                     passes(files, entries[i].path, Verification::kAutomatic);
    if (num_complete >= retention.keep && is_one_trusted) return i;
  }
  return 0;
}

// A save that was killed before its manifest was written.
void clean_objects(FileSystem& files, const fs::path& folder) {
  for (const FolderEntry& entry : files.list(folder)) {
    const fs::path path = folder / entry.name;
    if (step_of(entry.name) && !files.size(path / kManifestName) &&
        !files.size(path / kPreviousManifest))
      remove_tree(files, path);
  }
}

}  // namespace

std::string step_folder_name(std::int64_t step) {
  std::string digits = text(step);
  if (digits.size() < kStepDigits)
    digits.insert(0, kStepDigits - digits.size(), '0');
  return text(kPrefix, digits);
}

fs::path temporary_path(const fs::path& folder,
                        std::int64_t step,
                        std::string_view token) {
  return hidden_path(
      folder,
      step,
      token.empty() ? std::string(kTemporary) : text('.', token, kTemporary));
}

fs::path replaced_path(const fs::path& folder, std::int64_t step) {
  return hidden_path(folder, step, kReplaced);
}

fs::path removed_path(const fs::path& folder, std::int64_t step) {
  return hidden_path(folder, step, kRemoved);
}

std::vector<CheckpointEntry> list_checkpoints(const FileSystem& files,
                                              const fs::path& folder) {
  std::vector<CheckpointEntry> entries;
  std::set<std::int64_t> steps;
  const std::vector<FolderEntry> names = files.list(folder);
  const auto is_there = [&](const FolderEntry& entry) {
    return entry.is_folder && (!files.is_object_store() ||
                               files.size(folder / entry.name / kManifestName));
  };
  const auto add = [&](std::optional<std::int64_t> step,
                       const FolderEntry& entry) {
    if (step && is_there(entry) && steps.insert(*step).second)
      entries.push_back({*step, folder / entry.name});
  };
  for (const FolderEntry& entry : names) add(step_of(entry.name), entry);
  for (const FolderEntry& entry : names)
    add(hidden_step_of(entry.name, kReplaced), entry);
  std::ranges::sort(entries, {}, &CheckpointEntry::step);
  return entries;
}

LatestCheckpoint latest_checkpoint(const FileSystem& files,
                                   const fs::path& folder,
                                   Verification verification) {
  LatestCheckpoint latest;
  std::vector<CheckpointEntry> entries = list_checkpoints(files, folder);
  std::ranges::reverse(entries);
  for (const CheckpointEntry& entry : entries) {
    try {
      latest.reader.emplace(entry.path, verification, files);
      break;
    } catch (const UserError& error) {
      latest.rejected.emplace_back(error.what());
    }
  }
  return latest;
}

LatestCheckpoint find_checkpoint(const FileSystem& files,
                                 const fs::path& path,
                                 Verification verification) {
  if (!files.size(path / kManifestName))
    return latest_checkpoint(files, path, verification);
  LatestCheckpoint found;
  found.reader.emplace(path, verification, files);
  return found;
}

std::vector<CheckpointEntry> checkpoints_to_prune(const FileSystem& files,
                                                  const fs::path& folder,
                                                  const Retention& retention) {
  TITAN_USER_CHECK(retention.keep >= 1,
                   "[checkpoint.keep] number of checkpoints to keep: expected "
                   "at least 1, got ",
                   retention.keep);
  TITAN_USER_CHECK(retention.keep_every >= 0,
                   "[checkpoint.keep_every] steps between checkpoints that "
                   "stay: expected 0 or more, got ",
                   retention.keep_every);
  std::vector<CheckpointEntry> entries = list_checkpoints(files, folder);
  entries.resize(oldest_to_keep(files, entries, retention));
  if (retention.keep_every > 0)
    std::erase_if(entries, [&](const CheckpointEntry& entry) {
      return entry.step % retention.keep_every == 0;
    });
  return entries;
}

std::vector<fs::path> prune_checkpoints(FileSystem& files,
                                        const fs::path& folder,
                                        const Retention& retention) {
  std::vector<fs::path> removed;
  for (const CheckpointEntry& entry :
       checkpoints_to_prune(files, folder, retention)) {
    removed.push_back(entry.path);
    // A kill must not leave half a checkpoint under its name: renamed first, or
    // without its manifest, it is none.
    if (files.is_object_store()) {
      files.remove(entry.path / kManifestName);
      remove_tree(files, entry.path);
      continue;
    }
    const fs::path hidden = removed_path(folder, entry.step);
    if (files.exists(hidden)) remove_tree(files, hidden);
    files.rename(entry.path, hidden);
    files.sync_folder(folder);
    remove_tree(files, hidden);
  }
  return removed;
}

std::vector<fs::path> set_aside_later(FileSystem& files,
                                      const fs::path& folder,
                                      std::int64_t step) {
  std::vector<fs::path> moved;
  for (const CheckpointEntry& entry : list_checkpoints(files, folder)) {
    if (entry.step <= step) continue;
    moved.push_back(entry.path);
    if (files.is_object_store()) {
      const fs::path manifest = entry.path / kManifestName;
      write_file(
          files, entry.path / kPreviousManifest, read_text(files, manifest));
      files.remove(manifest);
      continue;
    }
    const fs::path aside =
        folder / (step_folder_name(entry.step) + ".previous");
    if (files.exists(aside)) remove_tree(files, aside);
    files.rename(entry.path, aside);
  }
  if (!moved.empty()) files.sync_folder(folder);
  return moved;
}

void clean_leftovers(FileSystem& files, const fs::path& folder) {
  if (files.is_object_store()) return clean_objects(files, folder);
  for (const FolderEntry& entry : files.list(folder)) {
    const fs::path path = folder / entry.name;
    if (hidden_step_of(entry.name, kTemporary) ||
        hidden_step_of(entry.name, kRemoved))
      remove_tree(files, path);
    const auto replaced = hidden_step_of(entry.name, kReplaced);
    if (!replaced) continue;
    const fs::path home = folder / step_folder_name(*replaced);
    if (files.exists(home)) {
      remove_tree(files, path);
    } else {
      files.rename(path, home);
      files.sync_folder(folder);
    }
  }
}

}  // namespace titan::checkpoint
