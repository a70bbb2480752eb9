// SPDX-License-Identifier: BSD-3-Clause
// Piece -> ids for the pieces that text repeats. Direct-mapped, one cache line
// per entry, so memory is bounded (1 MiB) and nothing is allocated per piece.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace titan {

class WordCache {
 public:
  WordCache() : entries_(kNumEntries) {}

  /// Returns the ids of `piece`, or an empty span. Valid until store().
  std::span<const int32_t> find(std::string_view piece) const {
    if (piece.size() > kMaxBytes) return {};
    const Entry& entry = entries_[slot_of(piece)];
    if (entry.num_bytes != piece.size() ||
        std::memcmp(entry.bytes, piece.data(), piece.size()) != 0)
      return {};
    return {entry.ids, entry.num_ids};
  }

  /// Remembers `ids` (not empty) in place of what shares the slot; pieces that
  /// do not fit an entry are not kept.
  void store(std::string_view piece, std::span<const int32_t> ids) {
    if (piece.size() > kMaxBytes || ids.size() > kMaxIds) return;
    Entry& entry = entries_[slot_of(piece)];
    entry.num_bytes = static_cast<uint8_t>(piece.size());
    entry.num_ids = static_cast<uint8_t>(ids.size());
    std::memcpy(entry.bytes, piece.data(), piece.size());
    std::memcpy(entry.ids, ids.data(), ids.size_bytes());
  }

 private:
  static constexpr size_t kNumEntries = 1 << 14;
  static constexpr size_t kMaxBytes = 22;
  static constexpr size_t kMaxIds = 10;

  struct alignas(64) Entry {
    uint8_t num_bytes = 0;  // 0: free; pieces are never empty.
    uint8_t num_ids = 0;
    char bytes[kMaxBytes];
    int32_t ids[kMaxIds];
  };
  static_assert(sizeof(Entry) == 64);

  template <typename Word>
  static uint64_t load(const char* bytes) {
    Word word;
    std::memcpy(&word, bytes, sizeof(word));
    return word;
  }

  // Every byte counts, by loads that overlap; std::hash costs a call and a
  // loop, which is half the time of a hit.
  static size_t slot_of(std::string_view piece) {
    const char* begin = piece.data();
    const size_t size = piece.size();
    uint64_t first = size, last = 0;
    if (size >= 8) {
      first += load<uint64_t>(begin);
      last = load<uint64_t>(begin + size - 8);
      if (size > 16) first ^= load<uint64_t>(begin + 8) * kOdd;
    } else if (size >= 4) {
      first += load<uint32_t>(begin) << 8;
      last = load<uint32_t>(begin + size - 4);
    } else if (size > 0) {
      first += static_cast<uint64_t>(static_cast<uint8_t>(begin[0])) << 8;
      last = static_cast<uint64_t>(static_cast<uint8_t>(begin[size / 2])) << 8 |
             static_cast<uint8_t>(begin[size - 1]);
    }
    const uint64_t mixed = (first * kOdd) ^ (last * kOtherOdd);
    return (mixed ^ mixed >> 32) * kOdd >> (64 - 14);
  }

  // 2^64 / phi and the second constant of SplitMix64.
  static constexpr uint64_t kOdd = 0x9E3779B97F4A7C15ull;
  static constexpr uint64_t kOtherOdd = 0xBF58476D1CE4E5B9ull;
  static_assert(kNumEntries == size_t{1} << 14);

  std::vector<Entry> entries_;
};

}  // namespace titan
