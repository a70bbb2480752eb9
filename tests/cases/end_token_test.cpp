// SPDX-License-Identifier: BSD-3-Clause
// The end token of documents, where there is one and where there is none.
#include <catch2/catch.hpp>

#include <titan/error.h>

#include "tests/cases/small_run.h"

namespace titan::cases {

// Case DAT-02: asked for and not there is an error, not silence.
TEST_CASE("the end token is added where there is one, and never missed") {
  const RunFacts standard = SmallRun({}).run();
  CHECK(equal_bits(SmallRun({"data.add_eos=false"}).run(), standard));
  CHECK_THROWS_WITH(SmallRun({"data.add_eos=true"}).run(),
                    Catch::Matchers::Contains("add_eos needs an EOS token"));
}

}  // namespace titan::cases
