// SPDX-License-Identifier: BSD-3-Clause
// Samples to rows of seq_len tokens. Three ways:
//   sequential  rows are filled to the last place; a sample that does not fit
//               goes on in the next row. Nothing is padded.
//   best_fit    a sample goes, whole, to the open row with the least room that
//               holds it; a longer one than a row is cut into rows first. At
//               most kOpenRows rows are open; a row that is closed is padded.
//   none        a sample a row, padded.
// A packer's state is places of samples (sample_reader.h), never tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/data/row.h"
#include "core/data/sample_reader.h"

namespace titan {

enum class Packing { kSequential, kBestFit, kNone };

/// UserError for a name that is none of sequential, best_fit, none.
Packing parse_packing(const std::string& name);
/// UserError for a name that is none of split, truncate, drop.
TooLong parse_too_long(const std::string& name);

/// Inputs [begin, end) of a sample.
struct PieceState {
  SamplePlace place;
  int64_t begin = 0;
  int64_t end = 0;
};

/// Everything of a lane and source that the next rows depend on.
struct PackerState {
  SamplePlace next;                 ///< Where reading goes on.
  std::optional<PieceState> carry;  ///< Of a sample that was begun.
  std::vector<std::vector<PieceState>> open_rows;
};

/// For one thread at a time.
class Packer {
 public:
  virtual ~Packer() = default;
  /// Fills the empty `row`; false where no sample is left. See SampleReader.
  virtual bool next_row(Row& row) = 0;
  virtual PackerState state() const = 0;
  /// Continues where state() was taken; reads open samples again.
  virtual void restore(const PackerState& state) = 0;
};

/// Enough that hardly a place stays empty: tests/unit has the measurement.
inline constexpr size_t kOpenRows = 16;

/// `source` outlives the packer.
std::unique_ptr<Packer> make_packer(Packing packing,
                                    const Source& source,
                                    int64_t lane);

}  // namespace titan
