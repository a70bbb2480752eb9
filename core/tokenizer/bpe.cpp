// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/bpe.h"

#include <algorithm>
#include <bit>
#include <limits>

#include <titan/error.h>

namespace titan {
namespace {

// Never a pair of two ids, which are non-negative.
constexpr uint64_t kEmptyKey = ~0ull;
// Up to here rescanning all pairs after each merge beats the heap's constant.
constexpr size_t kLongestScan = 32;
// Positions are int32.
constexpr size_t kLongestPiece = std::numeric_limits<int32_t>::max();

uint64_t pair_key(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 |
         static_cast<uint32_t>(right);
}

}  // namespace

MergeTable::MergeTable(size_t num_merges)
    : slots_(std::bit_ceil(num_merges * 2 + 2), Slot{kEmptyKey, {0, 0}}),
      shift_(64 - std::countr_zero(slots_.size())) {}

// Fibonacci hashing: the high bits of key * 2^64/phi (Knuth, vol. 3, 6.4).
size_t MergeTable::slot_of(uint64_t key) const {
  size_t slot = (key ^ key >> 29) * 0x9E3779B97F4A7C15ull >> shift_;
  while (slots_[slot].key != key && slots_[slot].key != kEmptyKey)
    slot = (slot + 1) & (slots_.size() - 1);
  return slot;
}

void MergeTable::insert(int32_t left, int32_t right, Merge merge) {
  const uint64_t key = pair_key(left, right);
  slots_[slot_of(key)] = {key, merge};
}

const MergeTable::Merge* MergeTable::find(int32_t left, int32_t right) const {
  const Slot& slot = slots_[slot_of(pair_key(left, right))];
  return slot.key == kEmptyKey ? nullptr : &slot.merge;
}

namespace {

void merge_by_scan(const MergeTable& merges, std::vector<int32_t>& symbols) {
  constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  std::array<MergeTable::Merge, kLongestScan> pairs;
  const auto look_up = [&](size_t i) {
    const MergeTable::Merge* merge = merges.find(symbols[i], symbols[i + 1]);
    pairs[i] = merge ? *merge : MergeTable::Merge{kNone, 0};
  };
  size_t size = symbols.size();
  for (size_t i = 0; i + 1 < size; ++i) look_up(i);
  while (size > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < size; ++i)
      if (pairs[i].rank < pairs[best].rank) best = i;
    if (pairs[best].rank == kNone) break;
    symbols[best] = pairs[best].id;
    std::copy(symbols.begin() + best + 2,
              symbols.begin() + size,
              symbols.begin() + best + 1);
    if (best + 2 < size - 1)
      std::copy(pairs.begin() + best + 2,
                pairs.begin() + size - 1,
                pairs.begin() + best + 1);
    --size;
    if (best + 1 < size) look_up(best);
    if (best > 0) look_up(best - 1);
  }
  symbols.resize(size);
}

// A linked list of symbols and a heap of candidate pairs; a candidate whose
// symbols have changed since it was pushed is dropped when it comes up.
void merge_by_heap(const MergeTable& merges, BpeScratch& scratch) {
  using Candidate = BpeScratch::Candidate;
  auto& nodes = scratch.nodes;
  auto& heap = scratch.heap;
  const auto is_later = [](const Candidate& a, const Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
  };
  TITAN_USER_CHECK(scratch.symbols.size() <= kLongestPiece,
                   "[tokenizer] one word is too long: expected at most ",
                   kLongestPiece,
                   " bytes, got ",
                   scratch.symbols.size());
  const int32_t size = static_cast<int32_t>(scratch.symbols.size());
  nodes.clear();
  heap.clear();
  for (int32_t i = 0; i < size; ++i)
    nodes.push_back({scratch.symbols[i], i - 1, i + 1 < size ? i + 1 : -1});
  const auto push = [&](int32_t left) {
    const int32_t right = left < 0 ? -1 : nodes[left].next;
    if (right < 0) return;
    const auto* merge = merges.find(nodes[left].id, nodes[right].id);
    if (!merge) return;
    heap.push_back({merge->rank, left, nodes[left].id, nodes[right].id});
    std::push_heap(heap.begin(), heap.end(), is_later);
  };
  for (int32_t i = 0; i < size; ++i) push(i);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), is_later);
    const Candidate top = heap.back();
    heap.pop_back();
    const int32_t left = top.position;
    const int32_t right = nodes[left].next;
    if (right < 0 || nodes[left].id != top.left_id ||
        nodes[right].id != top.right_id)
      continue;
    nodes[left].id = merges.find(top.left_id, top.right_id)->id;
    nodes[left].next = nodes[right].next;
    if (nodes[right].next >= 0) nodes[nodes[right].next].previous = left;
    nodes[right].id = -1;
    push(nodes[left].previous);
    push(left);
  }
  scratch.symbols.clear();
  for (int32_t i = 0; i >= 0; i = nodes[i].next)
    scratch.symbols.push_back(nodes[i].id);
}

}  // namespace

void merge_symbols(const MergeTable& merges, BpeScratch& scratch) {
  if (scratch.symbols.size() <= kLongestScan)
    merge_by_scan(merges, scratch.symbols);
  else
    merge_by_heap(merges, scratch);
}

Bpe::Bpe(Vocabulary vocabulary,
         MergeTable merges,
         const std::array<int32_t, 256>& byte_ids,
         bool ignore_merges)
    : vocabulary_(std::move(vocabulary)),
      merges_(std::move(merges)),
      byte_ids_(byte_ids),
      ignore_merges_(ignore_merges) {}

void Bpe::append_ids(std::string_view piece,
                     Scratch& scratch,
                     std::vector<int32_t>& ids) const {
  if (ignore_merges_) {
    const auto whole = vocabulary_.find(piece);
    if (whole != vocabulary_.end()) return ids.push_back(whole->second);
  }
  scratch.symbols.clear();
  for (const char byte : piece)
    scratch.symbols.push_back(byte_ids_[static_cast<unsigned char>(byte)]);
  merge_symbols(merges_, scratch);
  ids.insert(ids.end(), scratch.symbols.begin(), scratch.symbols.end());
}

}  // namespace titan
