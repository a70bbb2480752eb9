// SPDX-License-Identifier: BSD-3-Clause
// Kernel selection and the plumbing of overrides, with kernels behind the C
// table.
#include <cstdlib>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <catch2/catch.hpp>

#include <titan/error.h>

#include "core/op/catalogue.h"
#include "core/op/slot.h"
#include "tests/unit/core/op/fake_kernel.h"

namespace titan::op {
namespace {

using Catch::Matchers::Contains;
using test::fake_kernel_counts;
using test::make_registry;

std::shared_ptr<KernelSelector> selector(KernelPolicy policy = {}) {
  return std::make_shared<KernelSelector>(make_registry(), std::move(policy));
}

std::string chosen(const std::shared_ptr<KernelSelector>& from,
                   at::ScalarType dtype,
                   int64_t columns = 8,
                   bool needs_backward = true) {
  const OpSpec& spec = find_op("titan.swiglu/1");
  const TensorMeta meta(dtype, at::kCPU, {4, columns});
  return from->select(spec, {}, {meta, meta}, "layers.0.ffn", needs_backward)
      .kernel->id();
}

TEST_CASE("the best scoring kernel that fits runs, the reference last") {
  const auto from = selector();
  CHECK(chosen(from, at::kFloat) == "acme.swiglu");
  CHECK(chosen(from, at::kBFloat16) == "titan.reference");
}

TEST_CASE("a refusal keeps its reason for explain") {
  Slot slot(find_op("titan.swiglu/1"), "layers.0.ffn", "", {}, selector());
  const at::Tensor x = at::ones({2, 5});
  invoke(slot, {x, x});
  const std::string text = explain(slot);
  CHECK_THAT(text, Contains("acme.swiglu (score 0"));
  CHECK_THAT(text, Contains("rows of 5 do not fill a vector"));
  CHECK_THAT(text, Contains("runs    acme.swiglu_other"));
}

TEST_CASE("a kernel without backward does not train") {
  const auto from = selector();
  CHECK(chosen(from, at::kFloat, 5, false) == "acme.swiglu_other");
  CHECK(chosen(from, at::kFloat, 5, true) == "titan.reference");
}

TEST_CASE(
    "what is recomputed later chooses its kernels as the recompute will") {
  Slot slot(find_op("titan.swiglu/1"), "layers.0.ffn", "", {}, selector());
  const at::Tensor x = at::ones({2, 5});
  const at::NoGradGuard without;
  const GradientFollows follows;
  invoke(slot, {x, x});
  CHECK_THAT(explain(slot), Contains("runs    titan.reference"));
}

TEST_CASE("pin beats prefer, prefer beats score, deny and require refuse") {
  KernelPolicy policy;
  KernelRule& rule = policy.ops["titan.swiglu/1"];
  rule.prefer = {"acme.swiglu_other"};
  CHECK(chosen(selector(policy), at::kFloat, 8, false) == "acme.swiglu_other");
  rule.use = "titan.reference";
  CHECK(chosen(selector(policy), at::kFloat) == "titan.reference");
  rule = KernelRule();
  rule.deny = {"acme.swiglu"};
  CHECK(chosen(selector(policy), at::kFloat) == "titan.reference");
  rule = KernelRule();
  rule.require_flags = TITAN_KERNEL_DETERMINISTIC;
  CHECK(chosen(selector(policy), at::kFloat) == "titan.reference");
}

TEST_CASE("a pin that cannot run is an error with the reason") {
  KernelPolicy policy;
  policy.ops["titan.swiglu/1"].use = "acme.swiglu";
  policy.ops["titan.swiglu/1"].origin = "recipe.yaml:3:5";
  const auto from = selector(policy);
  CHECK_THROWS_WITH(chosen(from, at::kBFloat16),
                    Contains("[recipe.yaml:3:5] no kernel of titan.swiglu/1") &&
                        Contains("acme.swiglu: does not take bf16"));
}

TEST_CASE("an unknown kernel name is an error with the nearest") {
  KernelPolicy policy;
  policy.ops["titan.swiglu/1"].use = "acme.swigul";
  CHECK_THROWS_WITH(selector(policy),
                    Contains("Did you mean \"acme.swiglu\"?"));
  KernelPolicy forced;
  forced.force("titan.swiglu/1=acme.none");
  CHECK_THROWS_WITH(selector(forced), Contains("[TITAN_FORCE_KERNEL]"));
  CHECK_THROWS_WITH(forced.force("titan.swiglu/1"),
                    Contains("expected op=kernel"));
}

TEST_CASE(
    "TITAN_FORCE_KERNEL reaches a plain slot and refuses what is unknown") {
  setenv("TITAN_FORCE_KERNEL", "titan.swiglu/1=acme.swiglu", 1);
  CHECK_THROWS_AS(Slot(find_op("titan.swiglu/1"), "ffn", "", {}), UserError);
  setenv("TITAN_FORCE_KERNEL", "titan.swiglu/1=titan.reference", 1);
  Slot slot(find_op("titan.swiglu/1"), "ffn", "", {});
  unsetenv("TITAN_FORCE_KERNEL");
  const at::Tensor x = at::ones({2, 4});
  CHECK(invoke_one(slot, {x, x}).defined());
}

TEST_CASE(
    "overrides go by FQN pattern, and one that matches nothing is an error") {
  KernelPolicy policy;
  policy.ops["titan.swiglu/1"].use = "titan.reference";
  KernelRule rule;
  rule.use = "acme.swiglu";
  policy.overrides = {{"layers.*.ffn", "titan.swiglu/1", rule}};
  const auto from = selector(policy);
  CHECK(chosen(from, at::kFloat) == "acme.swiglu");
  CHECK_THROWS_WITH(from->check_all_used(), Contains("layers.*.ffn"));
  Slot other(find_op("titan.swiglu/1"), "head.ffn", "", {}, from);
  CHECK_THROWS_AS(from->check_all_used(), UserError);
  Slot slot(find_op("titan.swiglu/1"), "layers.3.ffn", "", {}, from);
  CHECK_NOTHROW(from->check_all_used());
  const at::Tensor x = at::ones({2, 4});
  const double reference = invoke_one(other, {x, x}).sum().item<double>();
  CHECK(invoke_one(slot, {x, x}).sum().item<double>() ==
        Approx(10 * reference));
}

TEST_CASE("of two overrides that match, the later one holds") {
  KernelPolicy policy;
  KernelRule plain, fast;
  plain.use = "titan.reference";
  fast.use = "acme.swiglu";
  policy.overrides = {{"layers.**", "titan.swiglu/1", plain},
                      {"layers.3.*", "titan.swiglu/1", fast}};
  const auto from = selector(policy);
  Slot early(find_op("titan.swiglu/1"), "layers.2.ffn", "", {}, from);
  Slot late(find_op("titan.swiglu/1"), "layers.3.ffn", "", {}, from);
  const at::Tensor x = at::ones({2, 4});
  CHECK(invoke_one(late, {x, x}).sum().item<double>() ==
        Approx(10 * invoke_one(early, {x, x}).sum().item<double>()));
}

TEST_CASE("flags that a policy requires hold for every op") {
  KernelPolicy policy;
  REQUIRE(chosen(selector(policy), at::kFloat) == "acme.swiglu");
  policy.require_flags = TITAN_KERNEL_DETERMINISTIC;
  CHECK(chosen(selector(policy), at::kFloat) == "titan.reference");
}

TEST_CASE("FQN patterns: one star within a name, two across names") {
  CHECK(fqn_matches("layers.*.attention", "layers.12.attention"));
  CHECK_FALSE(fqn_matches("layers.*.attention", "layers.1.x.attention"));
  CHECK(fqn_matches("**.attention", "layers.1.x.attention"));
  CHECK(fqn_matches("**.attention", "attention"));
  CHECK(fqn_matches("layers.**", "layers.1.x"));
  CHECK(fqn_matches("layers.1*.w?", "layers.12.w?"));
  CHECK_FALSE(fqn_matches("layers.1*", "layers.2"));
}

TEST_CASE("a pattern that could match no name is refused with the reason") {
  using Catch::Matchers::Contains;
  for (const char* good :
       {"**", "layers.*.wq.weight", "a-b_c1*", "**.lora_A.*"})
    CHECK_NOTHROW(check_fqn_pattern(good, "[here]"));
  CHECK_THROWS_WITH(check_fqn_pattern("", "[here]"),
                    Contains("[here]") && Contains("got nothing"));
  CHECK_THROWS_WITH(check_fqn_pattern("a..b", "[here]"),
                    Contains("a name without letters"));
  CHECK_THROWS_WITH(check_fqn_pattern("a.", "[here]"),
                    Contains("a name without letters"));
  CHECK_THROWS_WITH(check_fqn_pattern("a.b**", "[here]"),
                    Contains("** inside a name"));
  CHECK_THROWS_WITH(check_fqn_pattern("a\\.b", "[here]"), Contains("'\\'"));
}

TEST_CASE("a plugin kernel runs forward and backward with a want mask") {
  Slot slot(find_op("titan.swiglu/1"), "ffn", "", {}, selector());
  const at::Tensor gate = at::ones({2, 4}).requires_grad_(true);
  const at::Tensor frozen = at::ones({2, 4});
  invoke_one(slot, {gate, frozen}).sum().backward();
  CHECK(fake_kernel_counts().forward == 1);
  CHECK(fake_kernel_counts().backward == 1);
  CHECK(fake_kernel_counts().want == 1);
  CHECK(gate.grad()[0][0].item<double>() == Approx(10 * 0.92767051));
}

TEST_CASE("a node keeps the kernel and its library alive until it is freed") {
  at::Tensor out;
  const at::Tensor gate = at::ones({2, 4}).requires_grad_(true);
  {
    Slot slot(find_op("titan.swiglu/1"), "ffn", "", {}, selector());
    out = invoke_one(slot, {gate, gate});
  }
  CHECK(fake_kernel_counts().destroyed == 0);
  CHECK(fake_kernel_counts().unloaded == 0);
  out.sum().backward();
  CHECK(fake_kernel_counts().backward == 1);
  out = at::Tensor();
  CHECK(fake_kernel_counts().destroyed == 1);
  CHECK(fake_kernel_counts().unloaded == 1);
}

TEST_CASE("backward runs the kernel that ran forward after a swap") {
  Slot slot(find_op("titan.swiglu/1"), "ffn", "", {}, selector());
  const at::Tensor gate = at::ones({2, 4}).requires_grad_(true);
  const at::Tensor out = invoke_one(slot, {gate, gate});
  slot.set_selector(KernelSelector::reference_only());
  out.sum().backward();
  CHECK(fake_kernel_counts().backward == 1);
  invoke_one(slot, {gate, gate});
  CHECK(fake_kernel_counts().forward == 1);
}

TEST_CASE("a refusal at run time is an error with the plugin's text") {
  Slot slot(find_op("titan.swiglu/1"), "ffn", "", {}, selector());
  const at::Tensor x = at::ones({2, 3});
  CHECK_THROWS_WITH(
      invoke(slot, {x, x}),
      Contains("[kernel acme.swiglu for titan.swiglu/1, forward]") &&
          Contains("acme: rows of 3 break it (code 601)"));
}

TEST_CASE("a table without forward, or of an unknown op, is refused") {
  KernelRegistry registry;
  titan_kernel_match match{};
  match.op_id = {"titan.swigul/1", 14};
  titan_kernel_table table{};
  table.match = &match;
  CHECK_THROWS_WITH(
      registry.add_plugin_kernel("acme.x", &table, nullptr, nullptr, nullptr),
      Contains("incomplete table"));
  table.forward = [](const titan_object*, const titan_call*, titan_error*) {
    return int32_t{0};
  };
  CHECK_THROWS_WITH(
      registry.add_plugin_kernel("acme.x", &table, nullptr, nullptr, nullptr),
      Contains("Did you mean titan.swiglu/1?"));
}

}  // namespace
}  // namespace titan::op
