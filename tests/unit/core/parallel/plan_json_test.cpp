// SPDX-License-Identifier: BSD-3-Clause
#include "core/parallel/plan_json.h"

#include <catch2/catch.hpp>

#include <titan/error.h>

namespace titan::parallel {
namespace {

std::string error_of(const char* text_of_plan) {
  try {
    plan_from_json(text_of_plan);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("plan survives its JSON and equal plans are equal bytes") {
  Plan plan;
  plan.mesh.pp = 2;
  plan.mesh.tp = 8;
  plan.cuts = {{"layers.*.wq.weight", 0}, {"layers.*.wo.weight", 1}};
  plan.transitions = {{"layers.*.attention", true, false, false, false},
                      {"embed", false, true, true, true}};
  plan.recompute = {{"layers.*", Recompute::kSelective, {"titan.attention/1"}},
                    {"layers.7", Recompute::kFull, {}}};
  plan.buckets = {{"embed", {"embed"}, Placement::kFlat, true},
                  {"norm", {"norm", "head"}, Placement::kReplicate, false}};
  plan.stages = {
      {{"embed"}, {{Action::Kind::kForward, 0}, {Action::Kind::kBackward, 0}}},
      {{"norm", "head"},
       {{Action::Kind::kForward, 0}, {Action::Kind::kBackward, 0}}}};
  plan.schedule = "1f1b";
  const std::string json = plan_to_json(plan);
  const Plan read = plan_from_json(json);
  CHECK(read.json == json);
  CHECK(plan_to_json(read) == json);
  CHECK(read.mesh.tp == 8);
  CHECK(read.transitions[1].sums_gradients);
  CHECK(read.recompute[0].save_ops ==
        std::vector<std::string>{"titan.attention/1"});
  CHECK(read.stages[1].actions[1].kind == Action::Kind::kBackward);
  // Order of keys and spaces do not matter.
  CHECK(plan_from_json(R"( {"mesh": {"tp": 2, "pp": 1}} )").json ==
        plan_from_json(R"({"mesh":{"pp":1,"tp":2}})").json);
}

TEST_CASE("plan text with a fault is refused by its path") {
  CHECK(error_of("{") == "[plan] text: expected JSON, got something else");
  CHECK_THAT(error_of(R"({"dta": {}})"),
             Catch::Contains("key: expected one of (mesh, tensor, recompute, "
                             "pipeline, data), got 'dta'"));
  CHECK(error_of(R"({"mesh": {"tp": "2"}})") ==
        "[plan mesh.tp] expected an integer, got \"2\"");
  CHECK(error_of(R"({"data": {"buckets": [{"placement": "ragged"}]}})") ==
        "[plan data.buckets[0].placement] expected one of (replicate, flat), "
        "got 'ragged'");
  CHECK(error_of(R"({"pipeline": {"stages": [{"actions": ["F0", "X1"]}]}})") ==
        "[plan pipeline.stages[0].actions] action: expected F or B with a "
        "microbatch (F0), got 'X1'");
  CHECK_THAT(error_of(R"({"pipeline": {"stages": [{"actions": ["F-1"]}]}})"),
             Catch::Contains("got 'F-1'"));
  CHECK(error_of(R"({"recompute": {"rules": 3}})") ==
        "[plan recompute.rules] expected a list, got 3");
}

}  // namespace titan::parallel
