// SPDX-License-Identifier: BSD-3-Clause
#include "core/checkpoint/checkpoint_writer.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <thread>

#include <titan/error.h>

#include "core/checkpoint/checkpoint_folder.h"

namespace titan::checkpoint {
namespace {

namespace fs = std::filesystem;

// Group and state of a role: "optimizer/exp_avg" has both, "model" one.
std::pair<std::string, std::string> split_role(const std::string& role) {
  const std::size_t slash = role.find('/');
  std::string group = role.substr(0, slash);
  const bool is_name = !group.empty() && std::ranges::all_of(group, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  TITAN_CHECK(is_name,
              "[checkpoint] role: expected <group>[/<state>] with a group of "
              "a-z, 0-9 and _, got \"",
              role,
              '"');
  return {std::move(group),
          slash == std::string::npos ? "" : role.substr(slash + 1)};
}

// Where a marker is looked for: often at first, so that a small save is not
// slowed down, rarely later, so that a large one is not either.
constexpr std::chrono::milliseconds kFirstPause{1};
constexpr std::chrono::milliseconds kLongestPause{50};

constexpr std::string_view kDone = "done";
constexpr std::string_view kFailed = "failed";

std::optional<std::string> read_marker(const FileSystem& files,
                                       const fs::path& path) {
  if (!files.exists(path)) return std::nullopt;
  return read_text(files, path);
}

}  // namespace

void prepare_folder(FileSystem& files, const fs::path& folder) {
  make_folders(files, folder);
  clean_leftovers(files, folder);
}

CheckpointWriter::CheckpointWriter(FileSystem& files, CheckpointTarget target)
    : files_(files),
      target_(std::move(target)),
      temporary_(
          files.is_object_store()
              ? target_.folder / step_folder_name(target_.step)
              : temporary_path(target_.folder, target_.step, target_.token)) {
  TITAN_CHECK(target_.step >= 0 && target_.rank >= 0 &&
                  target_.rank < target_.world_size,
              "[checkpoint] target: expected a step and a rank below ",
              target_.world_size,
              ", got step ",
              target_.step,
              ", rank ",
              target_.rank);
  report_.step = target_.step;
  report_.rank = target_.rank;
}

void CheckpointWriter::add_tensor(const std::string& role,
                                  TensorSource tensor) {
  std::vector<std::int64_t> shape = tensor.spec.shape;
  std::vector<std::int64_t> offset(shape.size(), 0);
  add_piece(role, std::move(tensor), std::move(shape), std::move(offset));
}

void CheckpointWriter::add_piece(const std::string& role,
                                 TensorSource piece,
                                 std::vector<std::int64_t> shape,
                                 std::vector<std::int64_t> offset) {
  const auto [group, state] = split_role(role);
  const std::string file = file_name(group);
  TensorRecord record;
  record.name = piece.spec.name;
  record.role = role;
  record.dtype = piece.spec.dtype;
  record.shape = std::move(shape);
  record.region = {std::move(offset), piece.spec.shape};
  record.file = file;
  record.key = state.empty() ? record.name : text(state, '/', record.name);
  const int index = num_pieces_[text(file, '/', record.key)]++;
  if (index > 0) record.key += text('#', index);
  piece.spec.name = record.key;
  groups_[file].tensors.push_back(std::move(piece));
  report_.tensors.push_back(std::move(record));
}

// Where files of a killed or of an older save of the step lie beside this
// one's, the token is in the name.
std::string CheckpointWriter::file_name(const std::string& group) const {
  return text(group, "-rank", target_.rank, name_mark(), ".safetensors");
}

std::string CheckpointWriter::name_mark() const {
  const bool has_mark = files_.is_object_store() && !target_.token.empty();
  return has_mark ? "-" + target_.token : "";
}

void CheckpointWriter::set_rank_state(std::string json) {
  report_.state = std::move(json);
}

void CheckpointWriter::stage(StagingBuffer& buffer) {
  std::span<std::byte> free =
      buffer.reserve(static_cast<std::size_t>(num_bytes()));
  for (auto& [file, group] : groups_)
    for (TensorSource& tensor : group.tensors) {
      const std::span<std::byte> place =
          free.first(static_cast<std::size_t>(spec_size_bytes(tensor.spec)));
      free = free.subspan(place.size());
      std::span<std::byte> rest = place;
      tensor.bytes([&](std::span<const std::byte> bytes) {
        TITAN_CHECK(bytes.size() <= rest.size(),
                    "[checkpoint] bytes of \"",
                    tensor.spec.name,
                    "\": expected at most ",
                    rest.size(),
                    " more, got ",
                    bytes.size());
        // Not std::ranges::copy: GCC 12 makes a loop of it, 2 GB/s.
        if (!bytes.empty())
          std::memcpy(rest.data(), bytes.data(), bytes.size());
        rest = rest.subspan(bytes.size());
      });
      TITAN_CHECK_EQ(rest.size(),
                     0u,
                     "[checkpoint] bytes missing of \"",
                     tensor.spec.name,
                     '"');
      tensor.bytes = borrow_bytes(place);
    }
}

std::int64_t CheckpointWriter::num_bytes() const {
  std::int64_t total = 0;
  for (const auto& [file, group] : groups_)
    for (const TensorSource& tensor : group.tensors)
      total += spec_size_bytes(tensor.spec);
  return total;
}

fs::path CheckpointWriter::commit(const CheckpointState& state) {
  TITAN_CHECK_EQ(target_.world_size,
                 1,
                 "[checkpoint] ranks of commit(); several use publish()");
  prepare_folder(files_, target_.folder);
  write();
  return publish(state);
}

void CheckpointWriter::write() {
  // Whichever rank comes first makes it.
  files_.make_folder(temporary_);
  report_.files.clear();
  for (const auto& [name, group] : groups_) {
    const WrittenFile written = write_safetensors(
        files_, temporary_ / name, group.tensors, {{"format", "pt"}});
    report_.files.push_back({name, written.size_bytes, written.checksum});
  }
  files_.sync_folder(temporary_);
  // Rank 0 keeps its own report.
  if (target_.rank == 0) return;
  // Once it has its name rank 0 may publish, and the folder is no longer
  // there to be synced. Rank 0 syncs what the marker stands for.
  write_file_by_rename(
      files_, marker(target_.rank, kDone), rank_report_text(report_));
}

void CheckpointWriter::report_failure(const std::string& reason) noexcept {
  if (target_.rank == 0) return;
  try {
    files_.make_folder(temporary_);
    write_file_by_rename(files_, marker(target_.rank, kFailed), reason);
  } catch (...) {
    // The disk that failed may refuse this too: then rank 0 times out.
  }
}

fs::path CheckpointWriter::publish(const CheckpointState& state,
                                   const MarkerWait& wait) {
  TITAN_CHECK_EQ(target_.rank, 0, "[checkpoint] rank that publishes");
  const Manifest manifest = merge(collect_reports(wait), state);
  require_complete_tensors("checkpoint", manifest.tensors);
  write_file(files_, temporary_ / kManifestName, manifest_text(manifest));
  if (files_.is_object_store()) {
    remove_unnamed(manifest);
    return temporary_;
  }
  // All that the markers say is in the manifest now.
  for (std::int64_t rank = 1; rank < target_.world_size; ++rank)
    files_.remove(marker(rank, kDone));
  files_.sync_folder(temporary_);
  make_visible();
  return target_.folder / step_folder_name(target_.step);
}

fs::path CheckpointWriter::marker(std::int64_t rank,
                                  std::string_view ending) const {
  return temporary_ / text("rank", rank, name_mark(), '.', ending);
}

std::vector<RankReport> CheckpointWriter::collect_reports(
    const MarkerWait& wait) const {
  std::vector<RankReport> reports = {report_};
  const auto deadline = std::chrono::steady_clock::now() + wait.timeout;
  std::chrono::milliseconds pause = kFirstPause;
  std::string last_fault = "none";
  for (std::int64_t rank = 1; rank < target_.world_size;) {
    if (const auto reason = read_marker(files_, marker(rank, kFailed)))
      throw DeviceError(text("[checkpoint ",
                             temporary_.string(),
                             "] rank ",
                             rank,
                             ": expected its files, got: ",
                             *reason));
    const fs::path path = marker(rank, kDone);
    try {
      if (const auto found = read_marker(files_, path)) {
        reports.push_back(parse_rank_report(*found, path.string()));
        ++rank;
        continue;
      }
    } catch (const UserError& error) {
      last_fault = error.what();  // a part of it, on a slow network disk
    }
    const bool is_cancelled =
        wait.is_cancelled != nullptr && wait.is_cancelled->load();
    if (is_cancelled || std::chrono::steady_clock::now() >= deadline)
      throw DeviceError(
          text("[checkpoint ",
               path.string(),
               "] done marker of rank ",
               rank,
               ": expected within ",
               wait.timeout.count(),
               is_cancelled ? " ms, got the run's end" : " ms, got ",
               is_cancelled ? "" : last_fault,
               ". All ranks must share the folder."));
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLongestPause);
  }
  return reports;
}

Manifest CheckpointWriter::merge(std::vector<RankReport> reports,
                                 const CheckpointState& state) const {
  Manifest manifest;
  manifest.step = target_.step;
  manifest.world_size = target_.world_size;
  manifest.state = state;
  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    RankReport& report = reports[rank];
    TITAN_CHECK_EQ(report.step, target_.step, "[checkpoint] step of a report");
    TITAN_CHECK_EQ(report.rank,
                   static_cast<std::int64_t>(rank),
                   "[checkpoint] rank of a report");
    std::ranges::move(report.files, std::back_inserter(manifest.files));
    std::ranges::move(report.tensors, std::back_inserter(manifest.tensors));
    manifest.rank_states.push_back(std::move(report.state));
  }
  return manifest;
}

// What the manifest does not name: markers, files of an older save.
void CheckpointWriter::remove_unnamed(const Manifest& manifest) {
  std::set<std::string_view> named = {kManifestName};
  for (const FileRecord& file : manifest.files) named.insert(file.name);
  for (const FolderEntry& entry : files_.list(temporary_))
    if (!entry.is_folder && !named.contains(entry.name))
      files_.remove(temporary_ / entry.name);
}

void CheckpointWriter::make_visible() {
  const fs::path home = target_.folder / step_folder_name(target_.step);
  const fs::path replaced = replaced_path(target_.folder, target_.step);
  // A rename cannot replace a folder that is not empty. Between the two
  // renames a kill leaves only `.step_N.old`, which readers accept.
  const bool is_replacement = files_.exists(home);
  if (is_replacement) files_.rename(home, replaced);
  files_.rename(temporary_, home);
  files_.sync_folder(target_.folder);
  if (is_replacement) remove_tree(files_, replaced);
}

}  // namespace titan::checkpoint
