// SPDX-License-Identifier: BSD-3-Clause
// Saves one checkpoint so that a kill at any moment leaves the one before it
// loadable: everything goes to a hidden folder, synced, manifest last; one
// rename makes it visible. In an object store, which cannot rename, everything
// goes where it stays and the manifest makes it visible. Ranks tell each other
// nothing but by done markers in that folder. Protocol:
// docs/checkpoint_format.md.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/checkpoint/manifest.h"
#include "core/checkpoint/safetensors_writer.h"
#include "core/checkpoint/staging_buffer.h"
#include "core/checkpoint/storage.h"

namespace titan::checkpoint {

struct CheckpointTarget {
  std::filesystem::path folder;  // holds all checkpoints of the run
  std::int64_t step = 0;
  std::int64_t rank = 0;
  std::int64_t world_size = 1;
  /// The same on all ranks and in no other save, so that what a killed save
  /// left is not taken for this one's: of letters, digits and '-'. May be
  /// empty in a world of one.
  std::string token = {};
};

/// Makes the folder and removes what killed saves left in it. Rank 0, before
/// the first save of any rank; the others wait for it.
void prepare_folder(FileSystem& files, const std::filesystem::path& folder);

/// How long rank 0 waits for the others.
struct MarkerWait {
  std::chrono::milliseconds timeout = std::chrono::minutes(10);
  const std::atomic<bool>* is_cancelled = nullptr;  // null: never
};

/// One rank's share of one save. Alone: add, then commit(). With others:
///   rank 0: prepare_folder(), once; all wait for it
///   all:    add, [stage()], write()
///   rank 0: publish()
/// write() and publish() may run on a thread of their own. When any call
/// throws, the save did not happen; what it left is hidden and the next
/// prepare_folder() removes it.
class CheckpointWriter {
 public:
  /// `files` outlives the writer.
  CheckpointWriter(FileSystem& files, CheckpointTarget target);

  const CheckpointTarget& target() const { return target_; }

  /// Adds a tensor that this rank stores whole. `role` is "model",
  /// "optimizer/<state>" or another `<group>[/<state>]`; each group is a file.
  /// The source is called in stage() or write().
  void add_tensor(const std::string& role, TensorSource tensor);

  /// Adds the piece at `offset` of a tensor of `shape`; the piece's own shape
  /// is in its spec. Together the ranks must store each element once.
  void add_piece(const std::string& role,
                 TensorSource piece,
                 std::vector<std::int64_t> shape,
                 std::vector<std::int64_t> offset);

  /// JSON text that belongs to this rank, such as its data position.
  void set_rank_state(std::string json);

  /// Copies every source into `buffer`, which must live until write() is over:
  /// the tensors may change afterwards. Not by several threads: 500 MB take one
  /// 30 ms, as long as two (bench/results/checkpoint_io.md).
  void stage(StagingBuffer& buffer);

  /// Bytes of the tensors that were added.
  std::int64_t num_bytes() const;

  /// Saves the checkpoint of a world of one. Returns its folder.
  std::filesystem::path commit(const CheckpointState& state);

  /// Writes and syncs this rank's files, then leaves its done marker.
  void write();
  /// Tells rank 0, which waits, why this rank will leave no done marker. Does
  /// what it can and throws nothing.
  void report_failure(const std::string& reason) noexcept;
  /// Rank 0: waits for the markers of all, writes the manifest and makes the
  /// checkpoint visible, in place of an older one of the same step. Returns
  /// its folder. Throws UserError when the ranks' pieces do not make whole
  /// tensors, DeviceError when a marker does not come or tells of a failure.
  std::filesystem::path publish(const CheckpointState& state,
                                const MarkerWait& wait = {});

 private:
  struct Group {
    std::vector<TensorSource> tensors;
  };

  std::filesystem::path marker(std::int64_t rank,
                               std::string_view ending) const;
  std::vector<RankReport> collect_reports(const MarkerWait& wait) const;
  Manifest merge(std::vector<RankReport> reports,
                 const CheckpointState& state) const;
  std::string file_name(const std::string& group) const;
  std::string name_mark() const;
  void make_visible();
  void remove_unnamed(const Manifest& manifest);

  FileSystem& files_;
  CheckpointTarget target_;
  std::filesystem::path temporary_;        // where the files are written
  std::map<std::string, Group> groups_;    // by file name
  std::map<std::string, int> num_pieces_;  // by file name and key
  RankReport report_;
};

}  // namespace titan::checkpoint
