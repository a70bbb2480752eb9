// SPDX-License-Identifier: BSD-3-Clause
#include <vector>

#include <catch2/catch.hpp>

#include <titan/error.h>

TEST_CASE("text joins words, numbers and shapes", "[unit]") {
  const std::vector<int> shape = {8, 2048, 4096};
  CHECK(titan::text("shape ", shape, " at ", 0.1, ' ', true) ==
        "shape (8, 2048, 4096) at 0.1 true");
}

TEST_CASE("checks throw the kind of error that names who must act", "[unit]") {
  CHECK_THROWS_AS([] { TITAN_USER_CHECK(false, "a"); }(), titan::UserError);
  CHECK_THROWS_WITH([] { TITAN_CHECK_EQ(1 + 1, 3, "sum"); }(),
                    Catch::Contains("sum: expected 3, got 2"));
}
