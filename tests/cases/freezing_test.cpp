// SPDX-License-Identifier: BSD-3-Clause
// Frozen parameters: no update, no decay, no state, no part in the norm.
#include <cmath>

#include <catch2/catch.hpp>

#include <titan/error.h>

#include "core/parallel/precision.h"
#include "core/train/memory_estimate.h"
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

namespace {

// All but the head.
const std::string kHeadOnly =
    "optimizer.groups=[{match: lm_head.weight}, {match: '**', frozen: true}]";

}  // namespace

TEST_CASE("frozen lower layers change no number of what is trained above") {
  const Overrides common = {
      "training.steps=3",
      "optimizer.groups=[{match: lm_head.weight}, "
      "{match: layers.1.**}, {match: '**', frozen: true}]"};
  const RunFacts single = SmallRun(common).run();
  const std::string mesh = GENERATE(as<std::string>{},
                                    "parallel.dp_shard=2",
                                    "parallel.dp_replicate=2",
                                    "parallel.pp=2",
                                    "parallel.tp=2",
                                    "recompute=full");
  INFO(mesh);
  Overrides overrides = common;
  overrides.push_back(mesh);
  const RunFacts other = SmallRun(overrides).run();
  for (size_t i = 0; i < single.losses.size(); ++i) {
    CHECK(other.losses[i] == Approx(single.losses[i]).epsilon(1e-6));
    CHECK(other.norms[i] == Approx(single.norms[i]).epsilon(1e-5));
  }
}

TEST_CASE("below the lowest trained parameter nothing is kept nor computed") {
  const auto estimate = [](const Overrides& overrides) {
    SmallRun run(overrides);
    return train::estimate_memory(run.session(),
                                  train::mesh_shape(run.session().recipe(), 1));
  };
  const train::MemoryEstimate all = estimate({});
  const train::MemoryEstimate head = estimate({kHeadOnly});
  // Forward is a third of forward and backward, the head a fifth of all; one
  // of the two products of its backward is left.
  CHECK(head.forward_backward_flops < 0.6 * all.forward_backward_flops);
  CHECK(head.activations < all.activations);
  CHECK(head.optimizer * 3 < all.optimizer);
  CHECK(head.gradients * 3 < all.gradients);
}

TEST_CASE("a stage of a pipeline that is wholly frozen has no backward") {
  const Overrides common = {"training.steps=2", kHeadOnly};
  Overrides staged = common;
  staged.emplace_back("parallel.pp=2");
  const RunFacts single = SmallRun(common).run();
  const RunFacts other = SmallRun(staged).run();
  CHECK(other.losses[1] == Approx(single.losses[1]).epsilon(1e-6));
  CHECK(other.norms[1] == Approx(single.norms[1]).epsilon(1e-5));
}

TEST_CASE("what to freeze is refused where it cannot be meant") {
  using Catch::Matchers::Contains;
  const auto refused = [](const std::string& groups) {
    try {
      SmallRun({"optimizer.groups=" + groups}).run();
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string("nothing was refused");
  };
  CHECK_THAT(refused("[{match: '**', frozen: true}]"),
             Contains("parameters to train: expected some, got none"));
  CHECK_THAT(refused("[{match: layers.7.**, frozen: true}]"),
             Contains("'layers.7.**'") && Contains("got none"));
  CHECK_THAT(refused("[{match: 'layers.[01].*', frozen: true}]"),
             Contains("'layers.[01].*'") && Contains("got '['"));
  CHECK_THAT(refused("[{match: 'layers..wq', frozen: true}]"),
             Contains("a name without letters"));
  CHECK_THAT(refused("[{match: 'layers.**wq', frozen: true}]"),
             Contains("** inside a name"));
  CHECK_THAT(refused("[{match: norm.weight, frozen: true, lr_multiplier: 2}]"),
             Contains("optimizer.groups[0].frozen") &&
                 Contains("what is frozen has no update"));
}

TEST_CASE("fp16 is refused with the reason and what to use instead") {
  using Catch::Matchers::Contains;
  CHECK_THROWS_WITH(SmallRun({"precision=fp16"}),
                    Contains("loss scaling") && Contains("bf16"));
  CHECK_THROWS_WITH(parallel::precision_of("fp16"),
                    Contains("loss scaling") && Contains("bf16"));
}

}  // namespace titan::cases
