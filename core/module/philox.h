// SPDX-License-Identifier: BSD-3-Clause
// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011): randomness as a function of logical indices, so that every layout
// of ranks draws the same numbers.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace titan::module {

/// One block of four 32-bit numbers: a pure function of counter and key.
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter,
                                   std::array<uint32_t, 2> key);

/// 64-bit FNV-1a of a name, finished with a 64-bit mix: the key half that tells
/// parameters apart.
uint64_t hash_name(std::string_view name);

/// Uniform in (0, 1), 53 bits, from two 32-bit numbers; never 0 nor 1.
inline double uniform_open(uint32_t high, uint32_t low) {
  const uint64_t bits = (uint64_t{high} << 32 | low) >> 11;
  // The largest would be rounded up to 1.
  return std::min((static_cast<double>(bits) + 0.5) * 0x1.0p-53,
                  0x1.fffffffffffffp-1);
}

}  // namespace titan::module
