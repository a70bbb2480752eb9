// SPDX-License-Identifier: BSD-3-Clause
#include "core/parallel/squared_norm.h"

#include <ATen/ATen.h>
#include <catch2/catch.hpp>

namespace titan::parallel {

TEST_CASE("the gradient norm is finite where squares of float32 are not") {
  const double sum =
      squared_norm({at::full({3, 5}, 1e19f), at::full({1}, 3e38f)})
          .item<double>();
  CHECK(sum == Approx(15 * 1e38 + 9e76).epsilon(1e-6));
}

TEST_CASE("the gradient norm is the sum of squares of every element") {
  for (const auto dtype : {at::kFloat, at::kDouble, at::kBFloat16}) {
    std::vector<at::Tensor> tensors;
    double expected = 0;
    // Around the lanes and the pieces that it works in.
    for (const int64_t size : {0, 1, 15, 16, 17, 65536, 65537, 200001}) {
      tensors.push_back(
          at::arange(size, at::kDouble).sin().to(dtype).reshape({1, size}));
      expected += tensors.back().to(at::kDouble).square().sum().item<double>();
    }
    // Sums of 3e5 doubles in another order.
    CHECK(squared_norm(tensors).item<double>() ==
          Approx(expected).epsilon(1e-12));
  }
}

TEST_CASE("the gradient norm tells an infinity and a NaN") {
  const at::Tensor infinite = at::full({2}, INFINITY);
  CHECK(std::isinf(squared_norm({infinite}).item<double>()));
  CHECK(std::isnan(squared_norm({infinite - infinite}).item<double>()));
  CHECK(squared_norm({}).item<double>() == 0);
}

}  // namespace titan::parallel
