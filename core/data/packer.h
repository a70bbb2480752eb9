// SPDX-License-Identifier: BSD-3-Clause
// Documents to rows of seq_len tokens, in sequence: row i is tokens
// [i * seq_len, (i + 1) * seq_len) of the split. A document longer than what is
// left of a row goes on in the next one. Labels look one token ahead, across
// the end of the row, so cutting loses no target; the last token of a document
// has none.
#pragma once

#include <cstdint>
#include <vector>

#include "core/data/batch.h"
#include "core/data/token_store.h"

namespace titan {

/// Sizes the [T] vectors of `batch` and empties the rest. No allocation when
/// the sizes are there already.
void begin_batch(Microbatch& batch, int64_t num_tokens);

/// For one thread.
class Packer {
 public:
  /// `tokens` must outlive this.
  Packer(const TokenStore& tokens, int64_t seq_len);

  int64_t num_full_rows() const;
  /// With the last row, which may be padded.
  int64_t num_rows() const;

  /// Writes row `row` as the batch's next one: the rows of a batch are written
  /// in order, `slot` counting from 0. Leaves global_index alone.
  void pack_row(int64_t row, int64_t slot, Microbatch& batch);
  /// Writes a row of padding only.
  void pad_row(int64_t slot, Microbatch& batch) const;

 private:
  const TokenStore& tokens_;
  int64_t seq_len_;
  std::vector<int32_t> ids_;
  std::vector<int64_t> starts_;
};

}  // namespace titan
