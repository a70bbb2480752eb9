// SPDX-License-Identifier: BSD-3-Clause
// Which items a gradient reaches.
#include "core/parallel/stage_items.h"

#include <catch2/catch.hpp>

#include "core/parallel/planner.h"
#include "tests/unit/core/parallel/small_tree.h"

namespace titan::parallel {
namespace {

// Every item passes one tensor on.
class CarryingTree : public SmallTree {
 public:
  CarryingTree() {
    module::CarrySpec carry;
    carry.name = "h";
    carry.dims = {TITAN_DIM_TOKENS, 8};
    for (module::Item& item : tree.sequence("").items) item.carry = {carry};
  }
  void freeze(const std::string& prefix) {
    for (const auto& parameter : tree.parameters())
      if (parameter->fqn.starts_with(prefix)) parameter->is_trainable = false;
  }
  std::string reached() const {
    const Plan plan = default_plan(tree, 1);
    std::string names;
    for (const StageItem& item : stage_items(tree, plan, 0).items)
      if (item.is_reached) names += item.name + ' ';
    return names;
  }
};

}  // namespace

TEST_CASE("items below the lowest trained parameter are not reached") {
  CarryingTree small;
  CHECK(small.reached() == "embed layers.0 layers.1 norm head ");
  small.freeze("layers.0");
  CHECK(small.reached() == "embed layers.0 layers.1 norm head ");
  small.freeze("embed");
  CHECK(small.reached() == "layers.1 norm head ");
  small.freeze("layers.1");
  small.freeze("head");
  CHECK(small.reached() == "norm head ");
}

TEST_CASE("a carry that depends on nothing trained is no gradient's way") {
  CarryingTree small;
  small.freeze("embed");
  small.freeze("layers.0");
  const Plan plan = default_plan(small.tree, 1);
  const std::vector<StageItem> items = stage_items(small.tree, plan, 0).items;
  CHECK_FALSE(items[0].carry.front().is_differentiable);
  CHECK_FALSE(items[2].carry_in.front().is_differentiable);
  CHECK(items[2].carry.front().is_differentiable);
  CHECK(items[3].carry_in.front().is_differentiable);
}

}  // namespace titan::parallel
