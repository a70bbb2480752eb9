// SPDX-License-Identifier: BSD-3-Clause
// How the samples of a step are cut into microbatches and dealt to ranks must
// not show in anything that is computed.
#include <cmath>

#include <catch2/catch.hpp>

#include "tests/cases/small_run.h"

namespace titan::cases {
namespace {

struct Worst {
  double loss = 0, norm = 0, parameter = 0;
};

Worst compare(const RunFacts& a, const RunFacts& b) {
  Worst worst;
  REQUIRE(a.losses.size() == b.losses.size());
  for (size_t i = 0; i < a.losses.size(); ++i) {
    worst.loss = std::fmax(worst.loss, std::abs(a.losses[i] / b.losses[i] - 1));
    worst.norm = std::fmax(worst.norm, std::abs(a.norms[i] / b.norms[i] - 1));
  }
  REQUIRE(a.parameters.size() == b.parameters.size());
  for (const auto& [name, value] : a.parameters)
    worst.parameter = std::fmax(
        worst.parameter, relative_difference(value, b.parameters.at(name)));
  return worst;
}

// A larger eps than usual: Adam divides by the gradient's own size, which makes
// the rounding of a gradient that cancels to nothing as large as an update.
Overrides batch_of(int rows, const std::string& precision) {
  return {text("training.tokens_per_microbatch=", rows * 16),
          "precision=" + precision,
          "optimizer.config.eps=1e-5"};
}

void check_cut(const std::string& precision, double limit) {
  const RunFacts whole = SmallRun(batch_of(16, precision)).run();
  // Rows differ in how many of their tokens have a target.
  REQUIRE(whole.targets[0] != whole.targets[1]);
  REQUIRE(whole.targets[0] < 256);
  for (const int rows : {8, 2, 1})
    for (const char* mesh : {"parallel.dp_shard=1",
                             "parallel.dp_shard=2",
                             "parallel.dp_replicate=2"}) {
      Overrides overrides = batch_of(rows, precision);
      overrides.push_back(mesh);
      const Worst worst = compare(SmallRun(overrides).run(), whole);
      CAPTURE(precision, rows, mesh, worst.loss, worst.norm, worst.parameter);
      CHECK(worst.loss <= limit);
      CHECK(worst.norm <= limit);
      CHECK(worst.parameter <= limit);
    }
}

}  // namespace

// Case NUM-10: 16 rows as (16, 1), (8, 2), (2, 8), (1, 16), on one rank and on
// two.
TEST_CASE("batch and accumulation split in any way give one result, fp32") {
  check_cut("fp32", 1e-6);
}

TEST_CASE("batch and accumulation split in any way give one result, fp64") {
  check_cut("fp64", 1e-12);
}

}  // namespace titan::cases
