// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/permutation.h"

#include <titan/error.h>

#include "core/data/hash.h"

namespace titan {

Permutation::Permutation(int64_t size, uint64_t seed, int64_t epoch)
    : size_(static_cast<uint64_t>(size)) {
  TITAN_CHECK(size > 0, "[permutation] size is not positive: ", size);
  while (half_bits_ < 31 && (1ull << 2 * half_bits_) < size_) ++half_bits_;
  TITAN_CHECK(size_ <= 1ull << 2 * half_bits_, "[permutation] size: ", size);
  uint64_t state = combine_hash(mix_bits(seed), static_cast<uint64_t>(epoch));
  for (uint64_t& key : keys_) key = state = combine_hash(state, 0);
}

uint64_t Permutation::encrypt(uint64_t value) const {
  const uint64_t mask = (1ull << half_bits_) - 1;
  uint64_t left = value >> half_bits_;
  uint64_t right = value & mask;
  for (const uint64_t key : keys_) {
    const uint64_t next = left ^ (mix_bits(right ^ key) & mask);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

int64_t Permutation::operator()(int64_t index) const {
  auto value = static_cast<uint64_t>(index);
  TITAN_CHECK(value < size_, "[permutation] index outside: ", index);
  do value = encrypt(value);
  while (value >= size_);
  return static_cast<int64_t>(value);
}

}  // namespace titan
