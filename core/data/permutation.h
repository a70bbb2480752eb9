// SPDX-License-Identifier: BSD-3-Clause
// A shuffled order: a permutation of 0..n-1 that is a pure function
// of (n, seed, epoch) and needs no table, so that resuming anywhere is free.
#pragma once

#include <array>
#include <cstdint>

namespace titan {

/// A Feistel network over the smallest 2^(2k) >= n, walked until the value is
/// below n (cycle walking: Black and Rogaway, "Ciphers with Arbitrary Finite
/// Domains", 2002), hence a bijection; at most four steps on average.
class Permutation {
 public:
  Permutation(int64_t size, uint64_t seed, int64_t epoch);

  /// Returns where `index` goes; 0 <= index < size.
  int64_t operator()(int64_t index) const;

 private:
  // Four rounds make a good permutation of large domains (Luby and Rackoff);
  // eight, because small ones mix worse.
  static constexpr int kNumRounds = 8;

  uint64_t encrypt(uint64_t value) const;

  uint64_t size_;
  int half_bits_ = 1;
  std::array<uint64_t, kNumRounds> keys_;
};

}  // namespace titan
