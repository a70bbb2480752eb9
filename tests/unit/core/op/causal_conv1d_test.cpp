// SPDX-License-Identifier: BSD-3-Clause
// The causal convolution beyond reference_test.cpp: against LibTorch's own,
// documents, and going on from the past.
#include <ATen/ATen.h>
#include <catch2/catch.hpp>

#include <titan/error.h>

#include "core/op/catalogue.h"
#include "core/op/reference/reference.h"
#include "core/op/slot.h"

namespace titan::op {
namespace {

const OpSpec& convolution() {
  return find_op("titan.causal_conv1d/1");
}

at::Tensor normal(at::IntArrayRef sizes, uint64_t seed) {
  return reference::random_normal(sizes, at::kFloat, seed);
}

}  // namespace

TEST_CASE("the causal convolution equals LibTorch's padded depthwise one",
          "[unit]") {
  const at::Tensor x_TC = normal({29, 12}, 1);
  for (const int64_t taps : {1, 2, 4, 7}) {
    INFO("taps " << taps);
    const at::Tensor weight = normal({12, 1, taps}, 2), bias = normal({12}, 3);
    Slot slot(convolution(), "conv", "", {});
    const at::Tensor got =
        invoke_one(slot, {x_TC, at::Tensor(), at::Tensor(), weight, bias});
    const at::Tensor expected = at::conv1d(x_TC.t().unsqueeze(0),
                                           weight,
                                           bias,
                                           /*stride=*/1,
                                           /*padding=*/taps - 1,
                                           /*dilation=*/1,
                                           /*groups=*/12)
                                    .narrow(2, 0, 29)
                                    .squeeze(0)
                                    .t();
    CHECK((got - expected).abs().max().item<double>() < 1e-5);
  }
}

TEST_CASE("the causal convolution of a document does not see another's tokens",
          "[unit]") {
  const at::Tensor x_TC = normal({11, 6}, 1), weight = normal({6, 1, 4}, 2);
  at::Tensor poisoned_TC = x_TC.clone();
  poisoned_TC.narrow(0, 0, 5).fill_(NAN);
  const at::Tensor bounds = at::tensor({0, 5, 11}, at::kInt);
  Slot slot(convolution(), "conv", "", {});
  const at::Tensor packed =
      invoke_one(slot, {poisoned_TC, bounds, at::Tensor(), weight});
  const at::Tensor alone = invoke_one(
      slot, {x_TC.narrow(0, 5, 6), at::Tensor(), at::Tensor(), weight});
  CHECK(at::isnan(packed.narrow(0, 0, 5)).all().item<bool>());
  CHECK(at::equal(packed.narrow(0, 5, 6), alone));
}

TEST_CASE("the causal convolution goes on from the tokens before", "[unit]") {
  const at::Tensor x_TC = normal({13, 6}, 1), weight = normal({6, 1, 4}, 2);
  Slot slot(convolution(), "conv", "", {});
  const at::Tensor whole =
      invoke_one(slot, {x_TC, at::Tensor(), at::Tensor(), weight});
  for (int64_t t = 1; t < 13; ++t) {
    const int64_t kept = std::min<int64_t>(3, t);
    const at::Tensor got = invoke_one(slot,
                                      {x_TC.narrow(0, t, 1),
                                       at::tensor({0, 1}, at::kInt),
                                       x_TC.narrow(0, t - kept, kept),
                                       weight});
    CHECK(at::equal(got, whole.narrow(0, t, 1)));
  }
}

TEST_CASE("the causal convolution refuses a past of several documents",
          "[unit]") {
  Slot slot(convolution(), "layers.0.conv", "", {});
  CHECK_THROWS_WITH(
      invoke_one(slot,
                 {normal({4, 6}, 1),
                  at::tensor({0, 2, 4}, at::kInt),
                  normal({3, 6}, 2),
                  normal({6, 1, 4}, 3)}),
      Catch::Contains("[titan.causal_conv1d/1 at layers.0.conv]") &&
          Catch::Contains("past: expected one document when it "
                          "is given, got 2"));
  CHECK_THROWS_WITH(invoke_one(slot,
                               {normal({4, 6}, 1),
                                at::Tensor(),
                                at::Tensor(),
                                normal({5, 1, 4}, 3)}),
                    Catch::Contains("weight size of dim 0: expected 6, got 5"));
}

}  // namespace titan::op
