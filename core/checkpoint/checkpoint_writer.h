// SPDX-License-Identifier: BSD-3-Clause
// Saves one checkpoint so that a kill at any moment leaves the one before it
// loadable: everything goes to a hidden folder, synced, manifest last; one
// rename makes it visible. Protocol: docs/checkpoint_format.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/checkpoint/manifest.h"
#include "core/checkpoint/safetensors_writer.h"
#include "core/checkpoint/storage.h"

namespace titan::checkpoint {

struct CheckpointTarget {
  std::filesystem::path folder;  // holds all checkpoints of the run
  std::int64_t step = 0;
  std::int64_t rank = 0;
  std::int64_t world_size = 1;
};

/// One rank's share of one save. Alone: add, then commit(). With others:
///   rank 0: prepare();       all: barrier
///   all:    write_files();   reports gathered on rank 0
///   rank 0: publish(reports) all: barrier
/// When any call throws, the save did not happen; what it left is hidden and
/// the next prepare() removes it.
class CheckpointWriter {
 public:
  /// `files` outlives the writer.
  CheckpointWriter(FileSystem& files, CheckpointTarget target);

  /// Adds a tensor that this rank stores whole. `role` is "model",
  /// "optimizer/<state>" or another `<group>[/<state>]`; each group is a file.
  /// The source is called in write_files().
  void add_tensor(const std::string& role, TensorSource tensor);

  /// Adds the piece at `offset` of a tensor of `shape`; the piece's own shape
  /// is in its spec. Together the ranks must store each element once.
  void add_piece(const std::string& role,
                 TensorSource piece,
                 std::vector<std::int64_t> shape,
                 std::vector<std::int64_t> offset);

  /// JSON text that belongs to this rank, such as its data position.
  void set_rank_state(std::string json);

  /// Saves the checkpoint of a world of one. Returns its folder.
  std::filesystem::path commit(const CheckpointState& state);

  /// Removes leftovers and makes the hidden folder.
  void prepare();
  /// Writes and syncs this rank's files. Returns its report for publish().
  std::string write_files();
  /// Writes the manifest and makes the checkpoint visible, in place of an
  /// older one of the same step. Returns its folder. Throws UserError when the
  /// ranks' pieces do not make whole tensors.
  std::filesystem::path publish(std::span<const std::string> reports,
                                const CheckpointState& state);

 private:
  struct Group {
    std::vector<TensorSource> tensors;
  };

  Manifest merge(std::span<const std::string> reports,
                 const CheckpointState& state) const;
  void make_visible();

  FileSystem& files_;
  CheckpointTarget target_;
  std::filesystem::path temporary_;
  std::map<std::string, Group> groups_;    // by file name
  std::map<std::string, int> num_pieces_;  // by file name and key
  RankReport report_;
};

}  // namespace titan::checkpoint
