// SPDX-License-Identifier: BSD-3-Clause
#include "core/generate/sampling.h"

#include <map>

#include <ATen/ATen.h>
#include <catch2/catch.hpp>

#include <titan/error.h>

using titan::generate::sample;
using titan::generate::SamplingOptions;

namespace {

std::map<int64_t, int> histogram(const at::Tensor& logits,
                                 SamplingOptions options) {
  std::map<int64_t, int> counts;
  for (int64_t position = 0; position < 20000; ++position)
    ++counts[sample(logits, options, position)];
  return counts;
}

}  // namespace

TEST_CASE("temperature 0 takes the likeliest token, ties the lower id",
          "[unit]") {
  const at::Tensor logits = at::tensor({1.0, 3.0, 3.0, 2.0});
  CHECK(sample(logits, {.temperature = 0}, 0) == 1);
}

TEST_CASE("frequencies follow the softmax at the temperature", "[unit]") {
  const at::Tensor logits = at::tensor({1.0, 0.0, -1.0});
  const at::Tensor p = at::softmax(logits / 0.7, 0);
  const auto counts = histogram(logits, {.temperature = 0.7, .seed = 3});
  for (int64_t id = 0; id < 3; ++id)  // five sigma of 20,000 draws: 0.018
    CHECK(counts.at(id) / 20000.0 ==
          Approx(p[id].item<double>()).margin(0.018));
}

TEST_CASE("top-k and top-p leave the rest out", "[unit]") {
  const at::Tensor logits = at::log(at::tensor({0.1, 0.5, 0.3, 0.1}));
  const auto by_k = histogram(logits, {.top_k = 2});
  CHECK(by_k.size() == 2);
  CHECK(by_k.count(1) == 1);
  CHECK(by_k.count(2) == 1);
  CHECK(histogram(logits, {.top_p = 0.5}).size() == 1);
  CHECK(histogram(logits, {.top_p = 0.51}).size() == 2);
  CHECK(by_k.at(1) / 20000.0 == Approx(0.625).margin(0.018));
}

TEST_CASE("a sample is a function of seed, request and position", "[unit]") {
  const at::Tensor logits = at::zeros({1000});
  const SamplingOptions options{.seed = 9, .request = 4};
  CHECK(sample(logits, options, 17) == sample(logits, options, 17));
  CHECK(sample(logits, options, 17) != sample(logits, options, 18));
}

TEST_CASE("impossible options and NaN scores are refused", "[unit]") {
  using titan::generate::check_options;
  CHECK_THROWS_WITH(check_options({.temperature = -1}),
                    Catch::Contains("[generate.temperature]"));
  CHECK_THROWS_WITH(check_options({.top_p = 0}),
                    Catch::Contains("[generate.top_p]"));
  CHECK_THROWS_AS(sample(at::full({3}, NAN), {}, 0), titan::UserError);
}
