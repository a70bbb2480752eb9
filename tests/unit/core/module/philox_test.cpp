// SPDX-License-Identifier: BSD-3-Clause
#include "core/module/philox.h"

#include <catch2/catch.hpp>

using titan::module::philox4x32;
using Block = std::array<uint32_t, 4>;

// Known-answer vectors of the Random123 distribution (kat_vectors,
// philox4x32 10).
TEST_CASE("philox gives the published numbers", "[unit]") {
  CHECK(philox4x32({0, 0, 0, 0}, {0, 0}) ==
        Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                   {0xffffffff, 0xffffffff}) ==
        Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                   {0xa4093822, 0x299f31d0}) ==
        Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("uniform numbers never reach 0 nor 1", "[unit]") {
  CHECK(titan::module::uniform_open(0, 0) > 0.0);
  CHECK(titan::module::uniform_open(0xffffffff, 0xffffffff) < 1.0);
}
