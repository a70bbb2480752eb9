// SPDX-License-Identifier: BSD-3-Clause
// The batch that one forward sees. Token-major: T tokens in a line, made of
// packed rows of seq_len; documents and rows are told apart by doc_id and
// cu_seqlens only, never by positions.
#pragma once

#include <cstdint>
#include <vector>

namespace titan {

/// Label of a token that has no target.
inline constexpr int64_t kNoTarget = -100;

/// Plain host memory. T = tokens_per_microbatch, the same for every batch.
/// A *segment* is a piece of one document inside one row: what attention may
/// see. Padding at the end of a row is a segment of its own.
struct Microbatch {
  std::vector<int64_t> tokens;        ///< [T] Padding is 0.
  std::vector<int64_t> labels;        ///< [T] Next token or kNoTarget.
  std::vector<float> loss_weight;     ///< [T] 0 where the label is kNoTarget.
  std::vector<int32_t> doc_id;        ///< [T] Segment's number in the batch.
  std::vector<int32_t> cu_seqlens;    ///< [segments + 1] From 0 to T.
  std::vector<int32_t> positions;     ///< [T] From 0 in each segment.
  std::vector<int64_t> global_index;  ///< [T] In the step (or the run), equal
                                      ///< for every dp_world: keys RNG.
  int64_t n_valid = 0;                ///< Labels that are targets.
};

}  // namespace titan
