// SPDX-License-Identifier: BSD-3-Clause
#include "core/observe/process_clock.h"

#include <string>

#include <catch2/catch.hpp>

TEST_CASE("the start of a process is field 22, whatever its name", "[unit]") {
  const std::string_view fields =
      " S 1 2 3 0 -1 4194560 5 6 7 8 9 10 11 12 20 0 1 0 98765 13 14";
  CHECK(titan::parse_start_ticks("7 (titan)" + std::string(fields)) == 98765);
  CHECK(titan::parse_start_ticks("7 (a) b (c d)" + std::string(fields)) ==
        98765);
  CHECK_FALSE(titan::parse_start_ticks("7 (titan) S 1 2").has_value());
  CHECK_FALSE(titan::parse_start_ticks("").has_value());
}

TEST_CASE("this process is older than nothing and younger than a day",
          "[unit]") {
  const auto first = titan::seconds_since_process_start();
  const auto second = titan::seconds_since_process_start();
  REQUIRE(first.has_value());
  REQUIRE(second.has_value());
  CHECK(*first > -0.011);  // one clock tick
  CHECK(*first < 86400);
  CHECK(*second >= *first);
}
