// SPDX-License-Identifier: BSD-3-Clause
#include "core/parallel/validate.h"

#include <catch2/catch.hpp>

#include <titan/error.h>

#include "core/parallel/planner.h"
#include "tests/unit/core/parallel/small_tree.h"

namespace titan::parallel {
namespace {

using Catch::Contains;

constexpr Action forward(int64_t m) {
  return {Action::Kind::kForward, m};
}
constexpr Action backward(int64_t m) {
  return {Action::Kind::kBackward, m};
}

Plan two_stages(const module::ModuleTree& tree) {
  Plan plan = default_plan(tree, 2);
  plan.mesh.pp = 2;
  plan.stages = {{{"embed", "layers.0"},
                  {forward(0), forward(1), backward(0), backward(1)}},
                 {{"layers.1", "norm", "head"},
                  {forward(0), backward(0), forward(1), backward(1)}}};
  return plan;
}

std::string error_of(const Plan& plan, const module::ModuleTree& tree) {
  try {
    validate_plan(plan, tree, 2);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("plan validation accepts the default and a two-stage plan") {
  SmallTree small;
  CHECK(error_of(default_plan(small.tree, 2), small.tree) == "no error");
  CHECK(error_of(two_stages(small.tree), small.tree) == "no error");
}

TEST_CASE("plan stages must hold every item once and in order") {
  SmallTree small;
  Plan plan = two_stages(small.tree);
  plan.mesh.pp = 3;
  CHECK_THAT(error_of(plan, small.tree),
             Contains("number: expected parallel.pp 3, got 2"));
  plan = two_stages(small.tree);
  std::swap(plan.stages[1].items[0], plan.stages[1].items[1]);
  CHECK(
      error_of(plan, small.tree) ==
      "[plan pipeline.stages[1]] items in order: expected layers.1, got norm");
  plan = two_stages(small.tree);
  plan.stages[1].items.pop_back();
  CHECK(error_of(plan, small.tree) ==
        "[plan pipeline.stages] items: expected every item in a stage, got "
        "none with head");
  plan = two_stages(small.tree);
  plan.stages[1].items.clear();
  CHECK_THAT(error_of(plan, small.tree),
             Contains("expected at least one, got none"));
}

TEST_CASE("plan stages must run each microbatch forward, then backward") {
  SmallTree small;
  Plan plan = two_stages(small.tree);
  plan.stages[0].actions.pop_back();
  CHECK(error_of(plan, small.tree) ==
        "[plan pipeline.stages[0]] actions: expected F1 and B1, got no B1");
  plan = two_stages(small.tree);
  plan.stages[0].actions.push_back(forward(1));
  CHECK(error_of(plan, small.tree) ==
        "[plan pipeline.stages[0]] actions: expected F1 once, got it twice");
  plan = two_stages(small.tree);
  std::swap(plan.stages[1].actions[0], plan.stages[1].actions[1]);
  CHECK_THAT(error_of(plan, small.tree), Contains("expected F0 before B0"));
  plan = two_stages(small.tree);
  plan.stages[1].actions[0] = forward(5);
  CHECK_THAT(error_of(plan, small.tree),
             Contains("microbatch of F5: expected less than 2, got 5"));
}

TEST_CASE("plan stages that wait for one another are found beforehand") {
  SmallTree small;
  Plan plan = two_stages(small.tree);
  // Stage 0 wants B0 before it sends F1; stage 1 wants F1 before it does B0.
  plan.stages[0].actions = {forward(0), backward(0), forward(1), backward(1)};
  plan.stages[1].actions = {forward(0), forward(1), backward(0), backward(1)};
  CHECK(error_of(plan, small.tree) ==
        "[plan pipeline] deadlock: expected all stages to end, got them "
        "waiting for one another: (stage 0 at B0, stage 1 at F1)");
}

TEST_CASE("plan buckets must hold every parameter once") {
  SmallTree small;
  Plan plan = default_plan(small.tree, 2);
  plan.buckets.pop_back();
  CHECK(error_of(plan, small.tree) ==
        "[plan data.buckets] parameters of head: expected a bucket that holds "
        "them, got none");
  plan = default_plan(small.tree, 2);
  plan.buckets[0].items.push_back("head");
  CHECK_THAT(error_of(plan, small.tree),
             Contains("head: expected it in one bucket, got it in two"));
  plan = default_plan(small.tree, 2);
  plan.buckets[0].items = {"embd"};
  CHECK_THAT(error_of(plan, small.tree),
             Contains("expected one of the model, got 'embd'"));
  plan = default_plan(small.tree, 2);
  plan.buckets[0].reshards_after_forward = true;
  CHECK_THAT(error_of(plan, small.tree),
             Contains("A replica has nothing to give back"));
}

TEST_CASE("plan stages cannot share a tied parameter") {
  SmallTree small;
  small.tree.tie(*small.tree.find_module("embed"),
                 *small.tree.find_module("head"),
                 "weight");
  CHECK(error_of(default_plan(small.tree, 2), small.tree) == "no error");
  CHECK_THAT(error_of(two_stages(small.tree), small.tree),
             Contains("[parallel.pp] embed.weight is tied: expected its users "
                      "embed and head in one stage, got stages 0 and 1"));
  Plan plan = default_plan(small.tree, 2);
  std::swap(plan.buckets.front(), plan.buckets.back());
  CHECK_THAT(error_of(plan, small.tree),
             Contains("expected the bucket of embed before that of head"));
}

TEST_CASE("plan cuts must divide in whole units and patterns must match") {
  SmallTree small;
  Plan plan = default_plan(small.tree, 2);
  plan.mesh.tp = 4;
  plan.cuts = {{"layers.*.up.weight", 0}};
  CHECK(error_of(plan, small.tree) == "no error");
  plan.mesh.tp = 8;
  CHECK(error_of(plan, small.tree) ==
        "[parallel.tp] layers.0.up.weight has 4 units of 4 in dimension 0: "
        "expected one of (1, 2, 4), got 8");
  plan.mesh.tp = 2;
  plan.cuts = {{"layers.*.up.weight", 2}};
  CHECK_THAT(error_of(plan, small.tree),
             Contains("expected one of its dimensions, got 2"));
  plan.cuts = {{"layers.*.upp.weight", 0}};
  CHECK(error_of(plan, small.tree) ==
        "[plan tensor.parameters] pattern 'layers.*.upp.weight': expected it "
        "to match a parameter, got none");
  plan.cuts = {{"layers.*.up.weight", 0}, {"layers.1.up.weight", 1}};
  CHECK_THAT(error_of(plan, small.tree),
             Contains("layers.1.up.weight: expected one cut"));
  plan.cuts.clear();
  plan.transitions = {{"layers.*.attention", true, false, false, false}};
  CHECK_THAT(error_of(plan, small.tree),
             Contains("expected it to match a module, got none"));
}

TEST_CASE("plan recompute rules must match items and save only selectively") {
  SmallTree small;
  Plan plan = default_plan(small.tree, 2);
  plan.recompute = {{"layers.*", Recompute::kFull, {}}};
  CHECK(error_of(plan, small.tree) == "no error");
  plan.recompute = {{"blocks.*", Recompute::kFull, {}}};
  CHECK_THAT(error_of(plan, small.tree),
             Contains("pattern 'blocks.*': expected it to match an item"));
  plan.recompute = {{"layers.*", Recompute::kFull, {"titan.attention/1"}}};
  CHECK_THAT(error_of(plan, small.tree),
             Contains("expected none outside selective mode"));
}

}  // namespace titan::parallel
