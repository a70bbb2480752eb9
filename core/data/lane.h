// SPDX-License-Identifier: BSD-3-Clause
// A lane: one of the fixed number of streams that data is split into, each with
// readers, shuffled blocks and packers of its own, so that its rows depend on
// nothing but its number and the data. Ranks own lanes; with another number of
// ranks the same lanes have other owners, and the rows stay what they are.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/data/mixture.h"
#include "core/data/packer.h"

namespace titan {

/// What all lanes of a stream share. Immutable.
struct LanePlan {
  std::vector<Source> sources;
  std::optional<Mixture> mixture;  ///< Nothing: the sources one by one.
  Packing packing = Packing::kSequential;
  int64_t num_lanes = 1;
  bool end_is_error = false;  ///< A source that is used up: error, not an end.
};

/// A lane behind some row. Immutable once made, shared with queued rows.
struct LaneState {
  int64_t num_rows = 0;
  bool has_ended = false;
  std::vector<PackerState> sources;
};

/// For one thread at a time.
class Lane {
 public:
  /// `plan` outlives the lane.
  Lane(const LanePlan& plan, int64_t number);

  /// Fills the empty `row`. False, now and from then on, where the lane ends:
  /// the source that is drawn has no epoch left.
  bool next_row(Row& row);
  LaneState state() const;
  /// UserError where the data is not what the state was taken of.
  void restore(const LaneState& state);

 private:
  bool fill_from(int source, Row& row);

  const LanePlan& plan_;
  int64_t number_;
  int64_t num_rows_ = 0;
  bool has_ended_ = false;
  int current_ = 0;  // Without mixture.
  std::vector<std::unique_ptr<Packer>> packers_;
};

/// The state as compact JSON, and back. UserError where `text` is no state of a
/// lane with `num_sources` sources.
std::string to_json(const LaneState& state);
LaneState lane_state_from_json(const std::string& text, size_t num_sources);

}  // namespace titan
