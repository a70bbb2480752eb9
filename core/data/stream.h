// SPDX-License-Identifier: BSD-3-Clause
// The sequence of microbatches that a rank trains or validates on.
//
// Training. L lanes (lane.h) make rows; row r of the run is row r / L of lane
// r % L. A step takes the next tokens_per_step / seq_len rows; rank k of D
// takes rows k, k + D, k + 2D, ... of them, which are always those of the
// lanes k, k + D, ... that it owns. So the rows of a step, and of the run, are
// the same for every D that divides L; a row's global_index does not depend
// on D either. The state is that of each lane, wherever it lives. Where all
// epochs are done, rows of padding follow: has_ended() says so.
//
// Validation is one pass over the split in file order, through one lane that
// every rank reads and of which rank k uses microbatches k, k + D, ...: each
// token that has a next one is a target exactly once over all ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/data/batch.h"
#include "core/data/lane_threads.h"
#include "core/data/options.h"
#include "core/data/read_report.h"

namespace titan {

class Tokenizer;

/// A position of this rank's lanes, to go back to within the process. Cheap.
struct DataMark {
  int64_t num_taken = 0;
  LaneStates lanes;
};

/// For one thread.
class DataStream {
 public:
  /// Opens the files (reading little of them), starts the threads and waits for
  /// a first row, so that what is wrong with all of the data is said before any
  /// work. `tokenizer` must outlive the stream. UserError: see check_options,
  /// expand_files, make_text_mapper, next().
  DataStream(const DataOptions& options, const Tokenizer& tokenizer);
  ~DataStream();

  /// Fills `batch` (reusing its memory) and moves on. Validation: false, with
  /// `batch` untouched, where the split ends, after the same number of
  /// microbatches on every rank. Training never ends. UserError: what reading
  /// or mapping found.
  bool next(Microbatch& batch);
  /// Training: every lane of this rank has ended.
  bool has_ended() const;
  /// Goes back to the first microbatch.
  void rewind();

  DataMark mark() const;
  void restore(const DataMark& mark);

  /// Position and identity of the data as JSON, with this rank's lanes.
  std::string state() const;
  /// The states of all data ranks (in any order, some of them twice) as one.
  static std::string merge(const std::vector<std::string>& states);
  /// Continues where a state, merged or of all lanes, was taken; dp_world and
  /// tokens_per_microbatch may have changed. UserError: not a state, a lane
  /// missing, or of other data or options.
  void restore(const std::string& state);

  /// One line for the log: lanes, units, threads.
  std::string describe() const;
  /// What the sources' mappers say of the records so far, a line each.
  std::vector<std::string> describe_mapped() const;
  /// What reading found so far: skipped lines and the like.
  ReadCounts counts() const { return report_->counts(); }

 private:
  int64_t rows_per_microbatch() const;
  bool next_training(Microbatch& batch);
  bool next_validation(Microbatch& batch);
  std::vector<int64_t> own_lanes() const;
  void open_lanes();

  DataOptions options_;
  std::unique_ptr<ReadReport> report_;
  std::unique_ptr<LanePlan> plan_;
  std::unique_ptr<LaneThreads> lanes_;
  int64_t num_taken_ = 0;  // Microbatches of this rank.
  std::vector<Row> rows_;  // Of a validation microbatch.
};

}  // namespace titan
