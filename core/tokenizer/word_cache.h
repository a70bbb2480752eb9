// SPDX-License-Identifier: BSD-3-Clause
// Piece -> ids for the pieces that text repeats. Direct-mapped, one cache line
// per entry, so memory is bounded (1 MiB) and nothing is allocated per piece.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
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

  static size_t slot_of(std::string_view piece) {
    return std::hash<std::string_view>()(piece) & (kNumEntries - 1);
  }

  std::vector<Entry> entries_;
};

}  // namespace titan
