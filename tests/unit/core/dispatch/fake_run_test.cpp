// SPDX-License-Identifier: BSD-3-Clause
#include "core/dispatch/fake_run.h"

#include <ATen/ATen.h>
#include <catch2/catch.hpp>

#include <titan/error.h>

#include "core/op/catalogue.h"
#include "core/op/slot.h"

namespace titan::dispatch {
namespace {

using Catch::Matchers::Contains;

constexpr int64_t kTokens = 64, kDim = 32, kVocabulary = 128;

/// Norm, projection, attention, gated product, loss: one of each kind.
struct TinyModel {
  op::Slot embed{op::find_op("titan.embedding/1"), "embed", "", {}};
  op::Slot norm{op::find_op("titan.rms_norm/1"), "norm", "", {}};
  op::Slot project{op::find_op("titan.linear/1"), "project", "", {}};
  op::Slot attend{op::find_op("titan.attention/1"), "attend", "", {}};
  op::Slot gate{op::find_op("titan.swiglu/1"), "gate", "", {}};
  op::Slot loss{op::find_op("titan.fused_linear_cross_entropy/1"),
                "loss",
                "",
                {}};
  std::vector<at::Tensor> parameters;

  at::Tensor forward(const at::Tensor& ids, const at::Tensor& labels) {
    const at::Tensor x = op::invoke_one(embed, {ids, parameters[0]});
    const at::Tensor h = op::invoke_one(norm, {x, parameters[1]});
    const at::Tensor q =
        op::invoke_one(project, {h, parameters[2]}).view({kTokens, 4, 8});
    const at::Tensor a = op::invoke_one(attend, {q, q, q}).flatten(1);
    const at::Tensor y = x + op::invoke_one(gate, {a, h});
    return op::invoke_one(loss, {y, parameters[0], {}, labels});
  }
};

TEST_CASE("a fake run does forward and backward on shapes alone") {
  TinyModel model;
  FakeRun run;
  const std::vector<std::vector<int64_t>> shapes = {
      {kVocabulary, kDim}, {kDim}, {kDim, kDim}};
  for (const auto& sizes : shapes)
    model.parameters.push_back(
        run.empty(sizes, at::kFloat, Pool::kParameters).requires_grad_(true));
  const int64_t parameter_bytes = 4 * (kVocabulary * kDim + kDim + kDim * kDim);
  CHECK(run.report().live_bytes == parameter_bytes);
  const at::Tensor ids = run.empty({kTokens}, at::kLong);
  const int64_t base = run.report().live_bytes;
  {
    const ModeGuard guard(run);
    model.forward(ids, ids).backward();
  }
  const FakeRunReport report = run.report();
  // What is left: one gradient per parameter.
  CHECK(report.live_bytes == base + parameter_bytes);
  CHECK(report.peak_bytes > report.live_bytes);
  CHECK(report.live_by_pool[0] == parameter_bytes);
  CHECK(is_fake(model.parameters[2].grad()));
  CHECK(model.parameters[2].grad().sizes() == at::IntArrayRef({kDim, kDim}));
  const double linear = 2.0 * kTokens * kDim * kDim;
  const double head = 2.0 * kTokens * kDim * kVocabulary;
  CHECK(report.flops > 3 * (linear + head));
  CHECK(report.flops < 3 * (linear + head) +
                           3.5 * 2 * kTokens * kTokens * kDim +
                           3 * 20 * kTokens * kDim);
}

TEST_CASE("a fake run of 320 GB of parameters allocates nothing") {
  FakeRun run;
  at::Tensor weight = run.empty({200'000, 400'000}, at::kFloat);
  CHECK(is_fake(weight));
  CHECK(run.report().live_bytes == 320'000'000'000);
  {
    const ModeGuard guard(run);
    const at::Tensor x = at::empty({16, 400'000});
    CHECK(is_fake(x));
    const at::Tensor y = at::mm(x, weight.t());
    CHECK(y.sizes() == at::IntArrayRef({16, 200'000}));
    CHECK(run.report().flops == 2.0 * 16 * 200'000 * 400'000);
  }
  weight = at::Tensor();
  CHECK(run.report().live_bytes == 0);
}

TEST_CASE("views share bytes, writes make none, values cannot be read") {
  FakeRun run;
  const at::Tensor x = run.empty({4, 6}, at::kBFloat16);
  CHECK(run.report().live_bytes == 48);
  const ModeGuard guard(run);
  at::Tensor view = x.view({24}).narrow(0, 2, 4);
  view.add_(1);
  CHECK(run.report().live_bytes == 48);
  const at::Tensor chosen = at::where(x.gt(0), x, x * 2);
  CHECK(chosen.sizes() == x.sizes());
  const at::Tensor parts =
      at::cat(x.split(2, 0), 1).index_select(0, at::arange(2));
  CHECK(parts.sizes() == at::IntArrayRef({2, 12}));
  CHECK_THROWS_WITH(x.sum().item<double>(), Contains("value is read"));
}

TEST_CASE("tensors may outlive their fake run") {
  at::Tensor x;
  {
    FakeRun run;
    x = run.empty({4}, at::kFloat);
  }
  CHECK(is_fake(x));
  x = at::Tensor();
}

}  // namespace
}  // namespace titan::dispatch
