// SPDX-License-Identifier: BSD-3-Clause
// Angles of late positions need more than bf16's eight bits.
#include <ATen/ATen.h>
#include <catch2/catch.hpp>

#include "core/op/catalogue.h"
#include "core/op/reference/reference.h"
#include "core/op/slot.h"

namespace titan::op {

// Case NUM-03: tables follow acc(dtype), whatever the compute dtype.
TEST_CASE("bf16 rope at late positions is fp32's, rounded once") {
  const std::string id = GENERATE(
      as<std::string>{}, "titan.rope_complex/1", "titan.rope_cos_sin/1");
  INFO(id);
  Slot slot(find_op(id), "rope", "", {{"max_position", int64_t{1} << 17}});
  const at::Tensor x =
      reference::random_normal({4, 2, 16}, at::kFloat, 1).to(at::kBFloat16);
  const at::Tensor positions =
      at::tensor(std::vector<int64_t>{1, 257, 4099, 131071});
  const at::Tensor narrow = invoke_one(slot, {x, positions});
  const at::Tensor wide = invoke_one(slot, {x.to(at::kFloat), positions});
  CHECK(narrow.scalar_type() == at::kBFloat16);
  CHECK(at::equal(narrow, wide.to(at::kBFloat16)));
}

}  // namespace titan::op
