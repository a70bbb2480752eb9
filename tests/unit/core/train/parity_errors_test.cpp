// SPDX-License-Identifier: BSD-3-Clause
#include "core/train/parity_errors.h"

#include <limits>

#include <ATen/ATen.h>
#include <catch2/catch.hpp>

namespace titan::train {
namespace {

TensorError error_of(const char* name, double relative, double limit) {
  TensorError error;
  error.name = name;
  error.relative_norm = relative;
  error.limit = limit;
  return error;
}

}  // namespace

// Who is within the limit of the reference's float32 is within the sum.
TEST_CASE("a float32 run may be off from float64 by the reference's more") {
  std::vector<TensorError> ours = {error_of("a", 3.5e-3, 1e-3),
                                   error_of("b", 3e-3, 1e-3),
                                   error_of("c", 5e-4, 1e-3)};
  allow_error_of({error_of("a", 3e-3, 1e-3),
                  error_of("b", 1.5e-3, 1e-3),
                  error_of("c", 0, 1e-3)},
                 ours);
  CHECK(ours[0].limit == Approx(4e-3));
  CHECK(ours[0].passes());
  CHECK(ours[1].limit == Approx(2.5e-3));
  CHECK_FALSE(ours[1].passes());
  CHECK(ours[2].limit == 1e-3);
  CHECK(ours[2].passes());
}

TEST_CASE("a broken float32 reference allows nothing") {
  std::vector<TensorError> ours = {error_of("absent", 0, 1e-3),
                                   error_of("nan", 2e-3, 1e-3),
                                   error_of("infinite", 2e-3, 1e-3),
                                   error_of("odd", 0, 1e-3)};
  TensorError odd = error_of("odd", 0, 1e-3);
  odd.problem = "shape: expected (2), got (3)";
  allow_error_of(
      {error_of("nan", std::numeric_limits<double>::quiet_NaN(), 1e-3),
       error_of("infinite", std::numeric_limits<double>::infinity(), 1e-3),
       odd},
      ours);
  for (const TensorError& error : ours) {
    INFO(error.name);
    CHECK_FALSE(error.passes());
  }
}

TEST_CASE("a final weight is judged by the reference's whole update") {
  const Tensors start = {{"w", at::full({4}, 100.0)}};
  const Tensors end = {{"w", at::full({4}, 101.0)}, {"gone", at::ones({1})}};
  const Tensors ours = {{"w", at::full({4}, 101.5)}, {"new", at::ones({1})}};
  std::vector<TensorError> errors;
  compare_updates("final ", ours, end, start, 1e-3, errors);
  sort_worst_first(errors);
  REQUIRE(errors.size() == 3);
  CHECK(errors[0].name == "final gone");
  CHECK(errors[0].problem == "missing here");
  CHECK(errors[1].name == "final new");
  CHECK(errors[1].problem == "missing in the reference");
  CHECK(errors[2].relative_norm == Approx(0.5));
  CHECK(errors[2].max_absolute == Approx(0.5));
}

TEST_CASE("a weight of another shape is a problem, not a crash") {
  std::vector<TensorError> errors;
  compare_updates("final ",
                  {{"w", at::ones({2})}},
                  {{"w", at::ones({3})}},
                  {{"w", at::zeros({3})}},
                  1e-3,
                  errors);
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].problem == "shape: expected (3), got (2)");
}

}  // namespace titan::train
