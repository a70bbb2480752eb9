// SPDX-License-Identifier: BSD-3-Clause
// Byte-pair merging of one piece of text: symbols start as bytes, and the
// adjacent pair of lowest rank (leftmost first) merges until none is left.
// Knows ids and ranks only; files and pre-tokenizers are elsewhere.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/tokenizer/token_table.h"

namespace titan {

/// (left id, right id) -> (rank, merged id): open addressing, built once. The
/// lookup is the inner loop of merging.
class MergeTable {
 public:
  struct Merge {
    uint32_t rank;
    int32_t id;
  };

  explicit MergeTable(size_t num_merges);
  /// A pair that is inserted again takes the later rank, as in `tokenizers`.
  void insert(int32_t left, int32_t right, Merge merge);
  /// Returns null where the pair does not merge. Valid until insert().
  const Merge* find(int32_t left, int32_t right) const;

 private:
  struct Slot {
    uint64_t key;
    Merge merge;
  };
  size_t slot_of(uint64_t key) const;

  std::vector<Slot> slots_;
  int shift_;
};

/// What one thread needs while merging; reused from piece to piece.
struct BpeScratch {
  struct Node {
    int32_t id;
    int32_t previous;
    int32_t next;
  };
  struct Candidate {
    uint32_t rank;
    int32_t position;
    int32_t left_id;
    int32_t right_id;
  };
  std::vector<int32_t> symbols;
  std::vector<Node> nodes;
  std::vector<Candidate> heap;
};

/// Merges `scratch.symbols` (token ids) until no adjacent pair merges.
/// O(n log n).
void merge_symbols(const MergeTable& merges, BpeScratch& scratch);

/// BPE over bytes. Immutable; any thread may use it with its own scratch.
class Bpe {
 public:
  using Scratch = BpeScratch;

  /// `byte_ids[b]` is the id of the token that is byte b. `ignore_merges`: a
  /// piece that is a token as a whole is that token, whatever merging gives.
  Bpe(Vocabulary vocabulary,
      MergeTable merges,
      const std::array<int32_t, 256>& byte_ids,
      bool ignore_merges);

  /// Appends the ids of `piece`. O(n log n) in its length.
  void append_ids(std::string_view piece,
                  Scratch& scratch,
                  std::vector<int32_t>& ids) const;

 private:
  Vocabulary vocabulary_;
  MergeTable merges_;
  std::array<int32_t, 256> byte_ids_;
  bool ignore_merges_;
};

}  // namespace titan
