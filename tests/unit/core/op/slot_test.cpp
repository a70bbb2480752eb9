// SPDX-License-Identifier: BSD-3-Clause
#include "core/op/slot.h"

#include <mutex>
#include <set>
#include <thread>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>
#include <catch2/catch.hpp>

#include <titan/error.h>

#include "core/op/catalogue.h"
#include "core/op/reference/reference.h"

namespace titan::op {
namespace {

using Catch::Matchers::Contains;

TEST_CASE("find_op names the nearest op") {
  CHECK(find_op("titan.swiglu/1").name() == "swiglu");
  CHECK_THROWS_WITH(find_op("titan.swigloo/1"),
                    Contains("Did you mean titan.swiglu/1?"));
}

TEST_CASE("attributes are checked and completed when a slot is made") {
  const OpSpec& spec = find_op("titan.rms_norm/1");
  Slot slot(spec, "norm", "", {{"eps", int64_t{1}}});
  CHECK(slot.attributes().get_double("eps") == 1.0);
  CHECK(slot.attributes().get_int("offset") == 0);
  CHECK_THROWS_WITH(Slot(spec, "norm", "", {{"epsilon", 1.0}}),
                    Contains("[titan.rms_norm/1 at norm] unknown attribute") &&
                        Contains("\"epsilon\""));
  CHECK_THROWS_WITH(Slot(spec, "norm", "", {{"ep", 1.0}}),
                    Contains("Did you mean \"eps\"?"));
  CHECK_THROWS_WITH(Slot(spec, "norm", "", {{"offset", 1.5}}),
                    Contains("expected int, got float 1.5"));
  CHECK_THROWS_WITH(Slot(find_op("titan.rope_complex/1"),
                         "rope",
                         "",
                         {{"scaling", std::string("ntk")}}),
                    Contains("expected one of (none, linear, llama, yarn)"));
}

TEST_CASE("attributes cross the plugin boundary and back unchanged") {
  const Attributes attributes = {{"a", int64_t{3}},
                                 {"b", 0.5},
                                 {"c", true},
                                 {"d", std::string("word")},
                                 {"e", std::vector<int64_t>{1, 2}},
                                 {"f", std::vector<double>{0.25}}};
  const auto abi = attributes.to_abi();
  const Attributes back = Attributes::from_abi(abi);
  CHECK(back == attributes);
  CHECK(back.hash() == attributes.hash());
  CHECK(Attributes({{"a", int64_t{4}}}).hash() !=
        Attributes({{"a", int64_t{3}}}).hash());
  CHECK_THROWS_WITH(back.get_int("b"), Contains("expected int, got float"));
}

TEST_CASE("wrong inputs say op, place and all shapes") {
  Slot slot(find_op("titan.linear/1"), "layers.0.wq", "", {});
  const at::Tensor x = at::ones({4, 8});
  const at::Tensor weight = at::ones({3, 7});
  CHECK_THROWS_WITH(invoke(slot, {x, weight}),
                    Contains("[titan.linear/1 at layers.0.wq]") &&
                        Contains("expected 7, got 8") &&
                        Contains("x f32 (4, 8) cpu, weight f32 (3, 7) cpu, "
                                 "bias absent"));
  CHECK_THROWS_WITH(invoke(slot, {x, at::ones({3, 8}, at::kDouble)}),
                    Contains("weight dtype: expected f32, got f64"));
  CHECK_THROWS_WITH(invoke(slot, {x}), Contains("input weight is absent"));
  CHECK_THROWS_WITH(invoke(slot, {x, x, x, x}),
                    Contains("expected at most 3, got 4"));
}

TEST_CASE("a slot selects once per shape class and checks every new shape") {
  Slot slot(find_op("titan.linear/1"), "w", "", {});
  const at::Tensor weight = at::ones({3, 8});
  for (int i = 0; i < 5; ++i) invoke(slot, {at::ones({4, 8}), weight});
  CHECK(slot.counters().num_calls == 5);
  CHECK(slot.counters().num_selections == 1);
  invoke(slot, {at::ones({5, 8}), weight});
  CHECK(slot.counters().num_selections == 2);
  CHECK_THROWS_AS(invoke(slot, {at::ones({5, 9}), weight}), UserError);
}

TEST_CASE("a frozen weight gets no gradient and none is computed") {
  Slot slot(find_op("titan.linear/1"), "w", "", {});
  const at::Tensor x = at::ones({4, 8}).requires_grad_(true);
  const at::Tensor weight = at::ones({3, 8});
  invoke_one(slot, {x, weight}).sum().backward();
  CHECK(x.grad().defined());
  CHECK_FALSE(weight.grad().defined());
}

TEST_CASE("no gradient is recorded under no_grad, and none through integers") {
  Slot slot(find_op("titan.embedding/1"), "embed", "", {});
  const at::Tensor weight = at::ones({3, 8}).requires_grad_(true);
  const at::Tensor ids = at::zeros({4}, at::kLong);
  CHECK(invoke_one(slot, {ids, weight}).requires_grad());
  const c10::NoGradGuard no_grad;
  CHECK_FALSE(invoke_one(slot, {ids, weight}).requires_grad());
}

TEST_CASE("backward twice needs retain_graph and says so") {
  Slot slot(find_op("titan.swiglu/1"), "ffn", "", {});
  const at::Tensor x = at::ones({2, 4}).requires_grad_(true);
  const at::Tensor loss = invoke_one(slot, {x, x}).sum();
  loss.backward({}, true);
  const at::Tensor once = x.grad().clone();
  loss.backward();
  CHECK(at::equal(x.grad(), 2 * once));
  CHECK_THROWS_WITH(loss.backward(), Contains("second time"));
}

TEST_CASE("an input changed in place between forward and backward is caught") {
  Slot slot(find_op("titan.swiglu/1"), "ffn", "", {});
  const at::Tensor x = at::ones({2, 4}).requires_grad_(true);
  at::Tensor gate = x * 1;
  const at::Tensor loss = invoke_one(slot, {gate, x}).sum();
  gate.mul_(2);
  CHECK_THROWS_WITH(loss.backward(), Contains("inplace operation"));
}

TEST_CASE("ops on the meta device give shapes") {
  Slot slot(find_op("titan.attention/1"), "attention", "", {});
  const at::Tensor q = at::empty({6, 4, 8}, at::TensorOptions(at::kMeta));
  const at::Tensor k = at::empty({6, 2, 8}, at::TensorOptions(at::kMeta));
  const at::Tensor out = invoke_one(slot, {q, k, k});
  CHECK(out.is_meta());
  CHECK(out.sizes() == at::IntArrayRef({6, 4, 8}));
}

TEST_CASE("a plugin's op joins the catalogue with autograd from its forward") {
  OpSpec spec;
  spec.id = "acme.cube/1";
  spec.formula = "y = x^3";
  spec.inputs = {{"x"}};
  spec.outputs = {{"y"}};
  spec.shape = [](const Attributes&, const std::vector<TensorMeta>& in) {
    return Shapes{{in[0]}, {}};
  };
  spec.forward = [](const ForwardCall& call) {
    return ForwardResult{{call.inputs[0].pow(3)}, {}};
  };
  spec.tolerances = {{at::kDouble, {1e-15, 1e-15, "three products"}}};
  spec.cases = [] { return std::vector<ConformanceCase>{}; };
  static const OpSpec& added = add_op(std::move(spec));
  CHECK(added.name() == "acme_cube");
  CHECK_THROWS_WITH(add_op(added), Contains("in the catalogue already"));
  Slot slot(added, "x", "", {});
  const at::Tensor x = at::full({3}, 2.0).requires_grad_(true);
  invoke_one(slot, {x}).sum().backward();
  CHECK(at::equal(x.grad(), at::full({3}, 12.0)));
}

TEST_CASE("parallel_for runs on several threads: OpenMP is on") {
  const int before = at::get_num_threads();
  at::set_num_threads(2);
  std::mutex mutex;
  std::set<std::thread::id> ids;
  at::parallel_for(0, 2, 1, [&](int64_t, int64_t) {
    std::lock_guard lock(mutex);
    ids.insert(std::this_thread::get_id());
  });
  at::set_num_threads(before);
  CHECK(ids.size() == 2);
}

TEST_CASE("rope refuses positions out of range") {
  Slot slot(find_op("titan.rope_complex/1"),
            "rope",
            "",
            {{"max_position", int64_t{16}}});
  const at::Tensor x = at::ones({2, 1, 4});
  const at::Tensor late = at::tensor(std::vector<int64_t>{3, 16});
  const at::Tensor early = at::tensor(std::vector<int64_t>{-1, 0});
  CHECK_THROWS_WITH(invoke(slot, {x, late}),
                    Contains("expected 0 to 15, got 16"));
  CHECK_THROWS_WITH(invoke(slot, {x, early}), Contains("got -1"));
}

TEST_CASE("losses refuse labels out of range") {
  Slot slot(find_op("titan.cross_entropy/1"), "loss", "", {});
  const at::Tensor labels = at::tensor(std::vector<int64_t>{0, 7});
  CHECK_THROWS_WITH(invoke(slot, {at::ones({2, 7}), labels}),
                    Contains("expected 0 to 6 or -100, got 7 at token 1"));
}

TEST_CASE("attention does not look across documents") {
  Slot slot(find_op("titan.attention/1"), "attention", "", {});
  const at::Tensor q = reference::random_normal({8, 2, 4}, at::kFloat, 1);
  const at::Tensor bounds = at::tensor(std::vector<int32_t>{0, 3, 8}, at::kInt);
  const at::Tensor before = invoke_one(slot, {q, q, q, bounds});
  at::Tensor changed = q.clone();
  changed.narrow(0, 0, 3).add_(1);
  const at::Tensor after =
      invoke_one(slot, {changed, changed, changed, bounds});
  CHECK(at::equal(before.narrow(0, 3, 5), after.narrow(0, 3, 5)));
  CHECK_FALSE(at::equal(before.narrow(0, 0, 3), after.narrow(0, 0, 3)));
  const at::Tensor wrong = at::tensor(std::vector<int32_t>{0, 3, 7}, at::kInt);
  CHECK_THROWS_WITH(invoke(slot, {q, q, q, wrong}),
                    Contains("expected 0 to 8"));
}

TEST_CASE("rms_norm keeps Hugging Face's order bit by bit when told to") {
  // NUM-04: w * (x_fp32 * rstd).to(bf16), eps inside the root.
  const at::Tensor x =
      (reference::random_normal({8, 32}, at::kDouble, 4) * 0.058)
          .to(at::kBFloat16);
  const at::Tensor weight =
      (1 + 0.1 * reference::random_normal({32}, at::kDouble, 5))
          .to(at::kBFloat16);
  const at::Tensor wide = x.to(at::kFloat);
  const at::Tensor rstd = at::rsqrt(wide.pow(2).mean(-1, true) + 1e-6);
  const OpSpec& spec = find_op("titan.rms_norm/1");
  Slot cast(spec, "n", "", {{"eps", 1e-6}, {"cast_before_weight", true}});
  CHECK(at::equal(invoke_one(cast, {x, weight}),
                  weight * (wide * rstd).to(at::kBFloat16)));
  Slot gemma(spec, "n", "", {{"eps", 1e-6}, {"offset", int64_t{1}}});
  CHECK(
      at::equal(invoke_one(gemma, {x, weight}),
                (wide * rstd * (1 + weight.to(at::kFloat))).to(at::kBFloat16)));
}

TEST_CASE("chunked loss equals unchunked within 1e-6, gradients too") {
  // PRF-01, with a T that no chunk size divides and a chunk all ignored.
  const int64_t T = 101, D = 16, V = 50;
  at::Tensor labels = reference::random_ids({T}, V, 3);
  labels.narrow(0, 8, 8).fill_(-100);
  const auto run = [&](int64_t chunk) {
    Slot slot(find_op("titan.fused_linear_cross_entropy/1"),
              "loss",
              "",
              {{"chunk_tokens", chunk}});
    const at::Tensor hidden =
        reference::random_normal({T, D}, at::kFloat, 1).requires_grad_(true);
    const at::Tensor weight =
        reference::random_normal({V, D}, at::kFloat, 2).requires_grad_(true);
    const at::Tensor loss =
        invoke_one(slot, {hidden, weight, {}, labels}) / 93.0;
    loss.backward();
    return std::vector<at::Tensor>{loss.detach(), hidden.grad(), weight.grad()};
  };
  const auto whole = run(T);
  const auto chunked = run(8);
  for (size_t i = 0; i < whole.size(); ++i)
    CHECK((whole[i] - chunked[i]).norm().item<double>() <=
          1e-6 * whole[i].norm().item<double>());
}

}  // namespace
}  // namespace titan::op
