// SPDX-License-Identifier: BSD-3-Clause
// A row: seq_len places of a batch, filled with pieces of samples. What packers
// make and batches consist of.
#pragma once

#include <cstdint>
#include <vector>

#include "core/data/batch.h"
#include "core/data/sample.h"

namespace titan {

struct Row {
  std::vector<int32_t> tokens;        ///< Those of its segments, in order.
  std::vector<int32_t> labels;        ///< Next token, or kNoTarget.
  std::vector<int32_t> segment_ends;  ///< Ascending; positions restart there.
  int32_t source = -1;                ///< Entry of data.sources; -1: none.
  int64_t n_valid = 0;                ///< Labels that are targets.

  int64_t size() const { return static_cast<int64_t>(tokens.size()); }
};

/// Appends inputs [begin, end) of `sample` as a segment. Labels look one token
/// ahead, also across the end, so a cut loses no target; the last token of a
/// sample has none.
void append_segment(const Sample& sample, int64_t begin, int64_t end, Row& row);

/// Sizes the [T] vectors of `batch` and empties the rest. No allocation when
/// the sizes are there already.
void begin_batch(Microbatch& batch, int64_t num_tokens);

/// Writes `row` as the batch's row `slot` (in order, from 0), padded to
/// seq_len; the padding is a segment of its own. global_index counts from
/// `first_index`.
void write_row(const Row& row,
               int64_t seq_len,
               int64_t slot,
               int64_t first_index,
               Microbatch& batch);

}  // namespace titan
