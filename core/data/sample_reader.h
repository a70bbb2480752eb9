// SPDX-License-Identifier: BSD-3-Clause
// One lane's samples of one source, in their final order: the lane's units by
// turn, in each its blocks, in each the records shuffled, in each record the
// samples. A position is four numbers, and any sample can be read again by its
// position: that is what makes resuming exact and its state small.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/data/dataset.h"
#include "core/data/sample.h"
#include "core/data/unit_order.h"

namespace titan {

/// Names a sample of a lane and source. `record` counts in shuffled order.
struct SamplePlace {
  int64_t turn = 0;  ///< Of this lane: its turns count 0, 1, 2, ...
  int64_t block = 0;
  int64_t record = 0;
  int64_t sample = 0;

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 sees a 0 in it.
  auto operator<=>(const SamplePlace&) const = default;
};

/// What all lanes read from one entry of data.sources. Immutable.
struct Source {
  std::unique_ptr<const Dataset> dataset;
  std::shared_ptr<const SampleMapper> mapper;
  UnitOrder order;
  int64_t num_lanes = 1;
  bool shuffles = true;
  uint64_t seed = 0;
  TooLong too_long = TooLong::kSplit;
  int64_t seq_len = 0;
  int64_t vocab_size = 0;  ///< Ids must be below; 0: not known.
  ReadReport* report = nullptr;
};

/// For one thread at a time.
class SampleReader {
 public:
  SampleReader(const Source& source, int64_t lane);

  /// The next sample and its place; false behind the last epoch. UserError:
  /// reading or the mapper says so, an id outside the vocabulary, or nothing
  /// in any unit.
  bool next(Sample& sample, SamplePlace& place);

  /// Where next() goes on, and going on there.
  const SamplePlace& position() const { return at_; }
  void seek(const SamplePlace& place);

  /// Reads the sample at `place` again and moves there. UserError where the
  /// files no longer have it.
  Sample fetch(const SamplePlace& place);

 private:
  bool load_block();
  bool open_unit();
  void map_record();
  void check_ids(const Sample& sample, const RecordPlace& place) const;
  void next_turn();

  const Source& source_;
  int64_t lane_;
  SamplePlace at_;

  std::unique_ptr<UnitReader> unit_;
  int64_t unit_turn_ = -1;  // The turn that unit_ was opened in.
  int64_t next_block_ = 0;  // Names the block that unit_ gives next.
  bool has_block_ = false;  // records_ is block at_.block of turn at_.turn.
  std::vector<Record> records_;
  bool has_samples_ = false;  // samples_ is of record at_.record.
  std::vector<Sample> samples_;
  int64_t turns_without_sample_ = 0;
};

}  // namespace titan
