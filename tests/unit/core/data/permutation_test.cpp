// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/permutation.h"

#include <vector>

#include <catch2/catch.hpp>

namespace {

std::vector<int64_t> all(int64_t size, uint64_t seed, int64_t epoch) {
  const titan::Permutation permutation(size, seed, epoch);
  std::vector<int64_t> out;
  for (int64_t i = 0; i < size; ++i) out.push_back(permutation(i));
  return out;
}

}  // namespace

TEST_CASE("row order is a bijection for every size", "[unit]") {
  for (int64_t size : {1, 2, 3, 4, 5, 7, 16, 17, 64, 1000, 1024, 65537}) {
    std::vector<bool> seen(size);
    for (const int64_t row : all(size, 42, 0)) {
      REQUIRE((row >= 0 && row < size));
      REQUIRE_FALSE(seen[row]);
      seen[row] = true;
    }
  }
}

TEST_CASE("row order is a function of seed and epoch", "[unit]") {
  CHECK(all(1000, 1, 0) == all(1000, 1, 0));
  CHECK(all(1000, 1, 0) != all(1000, 1, 1));
  CHECK(all(1000, 1, 0) != all(1000, 2, 0));
  CHECK(all(1000, 1, 0) != all(1000, 0, 1));
}

// Part of the format: another order would break every resumed run. Values from
// the same formulas in Python integers.
TEST_CASE("row order never changes between versions", "[unit]") {
  CHECK(all(10, 7, 3) == std::vector<int64_t>{1, 7, 3, 9, 8, 5, 0, 6, 4, 2});
}

// A shuffled order should look random: each half of the rows is visited about
// half the time in each half of the epoch. Slack: 5 sigma of a hypergeometric
// draw, sqrt(n) / 4.
TEST_CASE("rows of both halves are spread over the epoch", "[unit]") {
  const int64_t size = 10000;
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    const auto order = all(size, 9, epoch);
    int64_t num_low = 0;
    for (int64_t i = 0; i < size / 2; ++i) num_low += order[i] < size / 2;
    CHECK(std::abs(num_low - size / 4) <= 125);
  }
}
