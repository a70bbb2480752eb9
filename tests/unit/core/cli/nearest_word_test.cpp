// SPDX-License-Identifier: BSD-3-Clause
#include "core/cli/nearest_word.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

using titan::cli::nearest_word;

TEST_CASE("a slip finds the word that was meant", "[unit]") {
  const std::vector<std::string> known = {"train", "validate", "plan"};
  CHECK(nearest_word("trian", known) == "train");
  CHECK(nearest_word("validat", known) == "validate");
  CHECK(nearest_word("plam", known) == "plan");
}

TEST_CASE("a word unlike any other gets no suggestion", "[unit]") {
  const std::vector<std::string> known = {"train", "validate", "plan"};
  CHECK_FALSE(nearest_word("quux", known));
  CHECK_FALSE(nearest_word("", known));
  CHECK_FALSE(nearest_word("train", {}));
}
