// SPDX-License-Identifier: BSD-3-Clause
// Frozen parameters: no update, no decay, no state, no part in the norm.
#include <cmath>

#include <catch2/catch.hpp>

#include <titan/error.h>

#include "core/parallel/precision.h"
#include "tests/cases/small_run.h"

namespace titan::cases {
namespace {

const std::string kEmbedding = "tok_embeddings.weight";
const Overrides kFrozen = {
    "training.steps=5",
    "optimizer.groups=[{match: tok_embeddings.*, frozen: true}]"};

}  // namespace

// Case OPT-06.
TEST_CASE("a frozen embedding keeps its bits, has no state and no norm") {
  const std::string mesh = GENERATE(as<std::string>{},
                                    "parallel.dp_shard=1",
                                    "parallel.dp_shard=2",
                                    "parallel.tp=2");
  INFO(mesh);
  Overrides overrides = kFrozen;
  overrides.push_back(mesh);
  SmallRun frozen(overrides);
  at::Tensor before;
  const RunFacts facts = frozen.run(
      [&](train::Training& training) {
        for (const auto& part : training.engine->parts())
          if (part.parameter->fqn == kEmbedding) {
            const at::Tensor whole = training.engine->gather(
                part, training.engine->master(part).clone());
            if (training.mesh.rank() == 0) before = whole;
          }
      },
      [](train::Training& training) {
        for (size_t i = 0; i < training.engine->parts().size(); ++i)
          if (training.engine->parts()[i].parameter->fqn == kEmbedding &&
              !training.optimizer->states(i).empty())
            throw BugError("a frozen parameter has optimizer state");
      });
  CHECK(at::equal(facts.parameters.at(kEmbedding), before));
  // The same start trains all of it: the norm then has the embedding's part.
  const RunFacts trained = SmallRun({mesh, "training.steps=5"}).run();
  CHECK(facts.losses[0] == Approx(trained.losses[0]).epsilon(1e-6));
  CHECK(facts.norms[0] < trained.norms[0] * 0.999);
  CHECK_FALSE(at::equal(trained.parameters.at(kEmbedding), before));
  const std::string other = "layers.0.feed_forward.w1.weight";
  CHECK_FALSE(
      at::equal(facts.parameters.at(other), trained.parameters.at(other)));
}

TEST_CASE("fp16 is refused with the reason and what to use instead") {
  using Catch::Matchers::Contains;
  CHECK_THROWS_WITH(SmallRun({"precision=fp16"}),
                    Contains("loss scaling") && Contains("bf16"));
  CHECK_THROWS_WITH(parallel::precision_of("fp16"),
                    Contains("loss scaling") && Contains("bf16"));
}

}  // namespace titan::cases
