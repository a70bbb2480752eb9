// SPDX-License-Identifier: BSD-3-Clause
// Mixed precision learns what fp32 learns; every precision repeats itself.
#include <cmath>

#include <catch2/catch.hpp>

#include "tests/cases/small_run.h"

namespace titan::cases {

TEST_CASE("bf16 stays within 2% of fp32's loss over 50 steps") {
  const Overrides steps = {"training.steps=50", "optimizer.config.lr=3e-3"};
  Overrides mixed = steps;
  mixed.push_back("precision=bf16");
  const RunFacts fp32 = SmallRun(steps).run();
  const RunFacts bf16 = SmallRun(mixed).run();
  double worst = 0;
  for (size_t i = 0; i < fp32.losses.size(); ++i)
    worst = std::fmax(worst, std::abs(bf16.losses[i] / fp32.losses[i] - 1));
  CAPTURE(worst, fp32.losses.front(), fp32.losses.back());
  CHECK(fp32.losses.back() < 0.7 * fp32.losses.front());  // it did learn
  CHECK(worst < 0.02);
  CHECK_FALSE(bf16.losses == fp32.losses);
  for (const auto& [name, value] : bf16.parameters)
    CHECK(value.scalar_type() == at::kFloat);
}

TEST_CASE("two runs of one recipe have the same bits") {
  const std::string precision =
      GENERATE(as<std::string>{}, "fp32", "bf16", "fp64");
  const std::string mesh = GENERATE(as<std::string>{},
                                    "parallel.dp_shard=1",
                                    "parallel.dp_shard=2",
                                    "parallel.tp=2",
                                    "parallel.pp=2");
  INFO(precision << ' ' << mesh);
  const Overrides overrides = {
      "precision=" + precision, mesh, "training.tokens_per_microbatch=64"};
  CHECK(equal_bits(SmallRun(overrides).run(), SmallRun(overrides).run()));
}

TEST_CASE("another seed gives another run") {
  CHECK_FALSE(
      equal_bits(SmallRun({}).run(), SmallRun({"training.seed=1"}).run()));
}

}  // namespace titan::cases
