// SPDX-License-Identifier: BSD-3-Clause
// Case DAT-22, as a person meets it: a run that is stopped and resumed, on the
// same and on other numbers of data ranks, trains on the very same samples.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/integration/data_run.h"

using namespace titan::integration;

TEST_CASE("40 steps are 13 and 13 and 14 of them on two ranks, bit for bit",
          "[integration]") {
  for (const Settings& data : unlike_data()) {
    INFO(data.front());
    CHECK(check_resumes_bit_identically(data) == 40);
  }
}

TEST_CASE("1, 2 and 4 data ranks in turn train on the samples of one",
          "[integration]") {
  for (const Settings& data : unlike_data()) {
    INFO(data.front());
    CHECK(check_ranks_in_turn(data) == 40);
  }
}
