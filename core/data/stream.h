// SPDX-License-Identifier: BSD-3-Clause
// The sequence of microbatches that a rank trains or validates on: a pure
// function of (options, files, position), so a position is all its state.
//
// Global order. Rows r = 0, 1, 2, ... are those of epoch r / N at place r % N
// (N rows per epoch, permuted by (seed, epoch) or in file order). Microbatch
// m holds rows [m * R, (m + 1) * R), R = tokens_per_microbatch / seq_len. The
// k-th microbatch of a rank is m = k * dp_world + dp_rank. So a step's G =
// tokens_per_step / tokens_per_microbatch microbatches are the same rows for
// every dp_world that divides G.
//
// Training uses whole rows: the at most seq_len - 1 tokens behind the last one
// are left out. Validation is one pass in file order with the last row padded,
// so each token that has a next one is a target exactly once over all ranks.
// Where the data ends, padding fills up: every rank gets as many microbatches
// (with tokens_per_step and epochs: whole steps).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/data/batch.h"
#include "core/data/options.h"
#include "core/data/packer.h"
#include "core/data/source.h"
#include "core/data/token_store.h"

namespace titan {

class Tokenizer;

/// For one thread.
class DataStream {
 public:
  /// Reads and tokenises the files; takes seconds per 100 MB. UserError: see
  /// check_options, load_tokenizer and load_corpus; less than one row of
  /// training data.
  explicit DataStream(const DataOptions& options);
  /// The same with a tokenizer that is loaded already.
  DataStream(const DataOptions& options, const Tokenizer& tokenizer);

  /// Fills `batch` (reusing its memory) and moves on. False, with `batch`
  /// untouched, where the data ends.
  bool next(Microbatch& batch);
  /// Goes back to the first microbatch.
  void rewind() { num_taken_ = 0; }

  /// Position and identity of the data as JSON; the same text on every rank.
  std::string state() const;
  /// Continues where state() was taken, in O(1). dp_world and
  /// tokens_per_microbatch may have changed if a microbatch of all ranks begins
  /// there. UserError: not a state, or of other data, seed or seq_len.
  void restore(const std::string& state);

  /// UserError if the data has a token id that a model of `model_vocab` lacks.
  void check_vocab(int64_t model_vocab) const;

  int64_t num_tokens() const { return tokens_->num_tokens(); }
  int64_t num_documents() const { return tokens_->num_documents(); }
  int64_t rows_per_epoch() const { return rows_per_epoch_; }
  /// Microbatches of this rank from the start; nothing where there is no end.
  std::optional<int64_t> num_microbatches() const;
  /// Epoch, from 0, of the row that next() begins with.
  int64_t epoch() const;
  /// What reading the files found: skipped lines and the like.
  const SourceReport& report() const { return report_; }

 private:
  int64_t rows_per_microbatch() const;
  int64_t next_row() const;
  int64_t row_in_file_order(int64_t global_row) const;

  DataOptions options_;
  SourceReport report_;
  std::unique_ptr<const TokenStore> tokens_;
  Packer packer_;
  int64_t rows_per_epoch_;
  int64_t num_epochs_;     // 0: no end.
  int64_t num_taken_ = 0;  // Microbatches of this rank.
};

}  // namespace titan
