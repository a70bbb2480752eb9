// SPDX-License-Identifier: BSD-3-Clause
// The mode stack and its small modes, on ATen and titan ops, forward and
// backward.
#include "core/dispatch/mode_stack.h"

#include <ATen/ATen.h>
#include <catch2/catch.hpp>

#include <titan/error.h>

#include "core/dispatch/no_sync_check.h"
#include "core/dispatch/op_counter.h"
#include "core/dispatch/selective_recompute.h"
#include "core/op/catalogue.h"
#include "core/op/slot.h"

namespace titan::dispatch {
namespace {

using Catch::Matchers::Contains;

TEST_CASE("modes see titan ops whole, forward and backward") {
  op::Slot slot(op::find_op("titan.swiglu/1"), "ffn", "", {});
  const at::Tensor x = at::ones({2, 4}).requires_grad_(true);
  OpCounter counter;
  {
    const ModeGuard guard(counter);
    op::invoke_one(slot, {x, x}).sum().backward();
  }
  CHECK(counter.count("titan::swiglu") == 1);
  CHECK(counter.count("titan::swiglu_backward") == 1);
  CHECK(counter.count("aten::silu") == 0);
  CHECK(counter.count("aten::sum") == 1);
  op::invoke_one(slot, {x, x});
  CHECK(counter.count("titan::swiglu") == 1);
}

TEST_CASE("modes nest, innermost first, and change no bit") {
  const at::Tensor x = at::arange(6, at::kFloat).view({2, 3});
  const at::Tensor expected = at::mm(x, x.t());
  OpCounter outer, inner;
  const ModeGuard first(outer);
  {
    const ModeGuard second(inner);
    CHECK(num_modes() == 2);
    CHECK(at::equal(at::mm(x, x.t()), expected));
  }
  CHECK(inner.count("aten::mm") == 1);
  CHECK(outer.count("aten::mm") == 1);
  {
    const NoModesGuard off;
    at::mm(x, x.t());
  }
  CHECK(outer.count("aten::mm") == 1);
}

class Doubling : public Mode {
 public:
  void call(const c10::OperatorHandle& op,
            c10::DispatchKeySet keys,
            torch::jit::Stack* stack) override {
    call_next(op, keys, stack);
    if (op.operator_name().name != "aten::relu") return;
    stack->back() = at::mul(stack->back().toTensor(), 2);
  }
};

TEST_CASE("ops called by a mode are seen by the modes outside it only") {
  OpCounter outer;
  Doubling doubling;
  const ModeGuard first(outer);
  const ModeGuard second(doubling);
  const at::Tensor y = at::relu(at::ones({2}));
  CHECK(outer.count("aten::mul") == 1);
  CHECK(y[0].item<double>() == 2);
}

TEST_CASE("an exception in a mode leaves the stack as it was") {
  NoSyncCheck check;
  OpCounter counter;
  const at::Tensor x = at::ones({2});
  {
    const ModeGuard outer(counter);
    const ModeGuard guard(check);
    CHECK_THROWS_WITH(x.sum().item<double>(),
                      Contains("aten::_local_scalar_dense waits"));
    CHECK_THROWS_AS(at::nonzero(x), BugError);
    at::relu(x);
  }
  CHECK(counter.count("aten::relu") == 1);
  CHECK(num_modes() == 0);
  CHECK(x.sum().item<double>() == 2);
}

TEST_CASE(
    "selective recompute gives back kept outputs without running the op") {
  op::Slot slot(op::find_op("titan.swiglu/1"), "ffn", "", {});
  const at::Tensor x = at::arange(8, at::kFloat).view({2, 4});
  const std::set<std::string> kept = {"titan::swiglu"};
  const auto segment = [&] {
    return op::invoke_one(slot, {x, x}).relu().requires_grad();
  };
  RecomputeCache cache;
  at::Tensor first, again;
  {
    SaveOutputs save(kept, cache);
    const ModeGuard guard(save);
    first = op::invoke_one(slot, {x, x});
    segment();
  }
  OpCounter counter;
  const ModeGuard outer(counter);
  ReuseOutputs reuse(kept, cache);
  const ModeGuard guard(reuse);
  again = op::invoke_one(slot, {x, x});
  segment();
  CHECK(counter.count("titan::swiglu") == 0);
  CHECK(counter.count("aten::relu") == 1);
  CHECK(again.data_ptr() == first.data_ptr());
  CHECK(cache.empty());
  CHECK_THROWS_WITH(op::invoke_one(slot, {x, x}),
                    Contains("more often than in forward"));
}

}  // namespace
}  // namespace titan::dispatch
