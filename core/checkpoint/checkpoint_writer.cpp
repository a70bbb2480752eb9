// SPDX-License-Identifier: BSD-3-Clause
#include "core/checkpoint/checkpoint_writer.h"

#include <algorithm>
#include <set>

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

}  // namespace

CheckpointWriter::CheckpointWriter(FileSystem& files, CheckpointTarget target)
    : files_(files),
      target_(std::move(target)),
      temporary_(temporary_path(target_.folder, target_.step)) {
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
  const std::string file = text(group, "-rank", target_.rank, ".safetensors");
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

void CheckpointWriter::set_rank_state(std::string json) {
  report_.state = std::move(json);
}

fs::path CheckpointWriter::commit(const CheckpointState& state) {
  TITAN_CHECK_EQ(target_.world_size,
                 1,
                 "[checkpoint] ranks of commit(); several use publish()");
  prepare();
  const std::string report = write_files();
  return publish({&report, 1}, state);
}

void CheckpointWriter::prepare() {
  make_folders(files_, target_.folder);
  clean_leftovers(files_, target_.folder);
  files_.make_folder(temporary_);
}

std::string CheckpointWriter::write_files() {
  report_.files.clear();
  for (const auto& [name, group] : groups_) {
    const WrittenFile written = write_safetensors(
        files_, temporary_ / name, group.tensors, {{"format", "pt"}});
    report_.files.push_back({name, written.size_bytes, written.checksum});
  }
  files_.sync_folder(temporary_);
  return rank_report_text(report_);
}

fs::path CheckpointWriter::publish(std::span<const std::string> reports,
                                   const CheckpointState& state) {
  const Manifest manifest = merge(reports, state);
  require_complete_tensors("checkpoint", manifest.tensors);
  write_file(files_, temporary_ / kManifestName, manifest_text(manifest));
  files_.sync_folder(temporary_);
  make_visible();
  return target_.folder / step_folder_name(target_.step);
}

Manifest CheckpointWriter::merge(std::span<const std::string> reports,
                                 const CheckpointState& state) const {
  const auto num_ranks = static_cast<std::size_t>(target_.world_size);
  TITAN_CHECK_EQ(reports.size(), num_ranks, "[checkpoint] reports of ranks");
  Manifest manifest;
  manifest.step = target_.step;
  manifest.world_size = target_.world_size;
  manifest.state = state;
  manifest.rank_states.resize(num_ranks);
  std::set<std::int64_t> ranks;
  for (const std::string& text : reports) {
    RankReport report = parse_rank_report(text);
    TITAN_CHECK_EQ(report.step, target_.step, "[checkpoint] step of a report");
    TITAN_CHECK(
        report.rank < target_.world_size && ranks.insert(report.rank).second,
        "[checkpoint] ranks of reports: expected each of ",
        target_.world_size,
        " once, got rank ",
        report.rank);
    std::ranges::move(report.files, std::back_inserter(manifest.files));
    std::ranges::move(report.tensors, std::back_inserter(manifest.tensors));
    manifest.rank_states[static_cast<std::size_t>(report.rank)] =
        std::move(report.state);
  }
  return manifest;
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
