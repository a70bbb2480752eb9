// SPDX-License-Identifier: BSD-3-Clause
// Mixing and hashing whose values are part of our formats: they decide which
// documents are held out and in which order rows come, so they never change
// (std::hash may).
#pragma once

#include <cstdint>
#include <string_view>

namespace titan {

/// A bijection of 64 bits in which every output bit depends on every input
/// bit: splitmix64's finaliser (Stafford's variant 13).
inline uint64_t mix_bits(uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ x >> 27) * 0x94D049BB133111EBull;
  return x ^ x >> 31;
}

/// Folds `value` into the running hash `state`.
inline uint64_t combine_hash(uint64_t state, uint64_t value) {
  return mix_bits(state * 0x9E3779B97F4A7C15ull + value + 1);
}

/// FNV-1a, 64 bits.
inline uint64_t hash_bytes(std::string_view bytes) {
  uint64_t state = 0xCBF29CE484222325ull;
  for (const char byte : bytes)
    state = (state ^ static_cast<unsigned char>(byte)) * 0x100000001B3ull;
  return state;
}

}  // namespace titan
