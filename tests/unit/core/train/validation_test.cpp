// SPDX-License-Identifier: BSD-3-Clause
#include "core/train/validation.h"

#include <cmath>

#include <catch2/catch.hpp>

// Case NUM-08: a mean of batch means would be (2 + 10) / 2 = 6.
TEST_CASE("validation loss weighs batches by their valid tokens", "[unit]") {
  CHECK(titan::train::mean_loss(2.0 + 90.0, 1 + 9) == Approx(9.2));
  CHECK(std::isnan(titan::train::mean_loss(0.0, 0)));
}
