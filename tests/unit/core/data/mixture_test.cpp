// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/mixture.h"

#include <cmath>

#include <catch2/catch.hpp>

#include <titan/error.h>

namespace {

std::vector<int64_t> count(const titan::Mixture& mixture,
                           size_t num_sources,
                           int64_t first,
                           int64_t step,
                           int64_t rows) {
  std::vector<int64_t> counts(num_sources);
  for (int64_t i = 0; i < rows; ++i) ++counts[mixture.draw(first + i * step)];
  return counts;
}

}  // namespace

TEST_CASE("shares are kept after few rows, in all and in each lane", "[unit]") {
  const titan::Mixture mixture({0.7, 0.2, 0.1}, 3);
  for (const int64_t rows : {100, 1000, 10000}) {
    const auto counts = count(mixture, 3, 0, 1, rows);
    CHECK(std::abs(counts[0] - 0.7 * static_cast<double>(rows)) <= 6);
    CHECK(std::abs(counts[2] - 0.1 * static_cast<double>(rows)) <= 6);
  }
  for (int64_t lane = 0; lane < 64; ++lane)
    CHECK(std::abs(count(mixture, 3, lane, 64, 1000)[0] - 700) <= 16);
}

TEST_CASE("weights are relative; zero is never drawn", "[unit]") {
  const titan::Mixture mixture({0, 3, 0, 9, 0}, 1);
  const auto counts = count(mixture, 5, 0, 1, 4000);
  CHECK((counts[0] == 0 && counts[2] == 0 && counts[4] == 0));
  CHECK(std::abs(counts[1] - 1000) <= 6);
}

TEST_CASE("weights that are no weights are refused (DAT-18)", "[unit]") {
  using Weights = std::vector<double>;
  for (const Weights& bad :
       {Weights{-1, 2}, Weights{NAN, 1}, Weights{0, 0}, Weights{INFINITY}})
    CHECK_THROWS_AS(titan::Mixture(bad, 0), titan::UserError);
}
