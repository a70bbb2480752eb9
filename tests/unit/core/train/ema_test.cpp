// SPDX-License-Identifier: BSD-3-Clause
// The running average of weights: its formula, when it begins, what it leaves.
#include "core/train/ema.h"

#include <ATen/ATen.h>
#include <catch2/catch.hpp>

#include "core/parallel/planner.h"
#include "tests/unit/core/parallel/small_tree.h"

namespace titan::train {
namespace {

class SmallEngine : public parallel::SmallTree {
 public:
  explicit SmallEngine(bool freezes_head = false) {
    if (freezes_head) tree.find_parameter("head.weight")->is_trainable = false;
    plan_ = parallel::default_plan(tree, 1);
    engine = std::make_unique<parallel::ParameterEngine>(
        tree,
        plan_,
        plan_.stages.front().items,
        mesh_,
        parallel::precision_of("bf16"));
  }
  void fill(double value) {
    for (const parallel::LocalPart& part : engine->parts())
      engine->master(part).fill_(value);
    engine->invalidate();
  }

  std::unique_ptr<parallel::ParameterEngine> engine;

 private:
  parallel::Plan plan_;
  dist::Mesh mesh_ = dist::Mesh::single();
};

double first(const at::Tensor& value) {
  return value.flatten()[0].item<double>();
}

}  // namespace

TEST_CASE("an average moves by (1 - decay) towards the weights, in float32") {
  SmallEngine small;
  Ema ema(*small.engine, {.decay = 0.75});
  small.fill(1);
  ema.reset();
  small.fill(2);
  ema.update(1);
  CHECK(first(ema.value(0)) == 1.25);
  ema.update(2);
  CHECK(first(ema.value(0)) == 1.4375);
  CHECK(ema.value(0).scalar_type() == at::kFloat);
}

TEST_CASE("until its start an average is the weights, then every so many") {
  SmallEngine small;
  Ema ema(*small.engine, {.decay = 0.5, .start = 2, .every = 3});
  std::vector<double> seen;
  small.fill(0);
  ema.reset();
  for (int64_t step = 1; step <= 8; ++step) {
    small.fill(static_cast<double>(step));
    ema.update(step);
    seen.push_back(first(ema.value(0)));
  }
  CHECK(seen == std::vector<double>{1, 2, 2, 2, 3.5, 3.5, 3.5, 5.75});
}

TEST_CASE("weights and averages exchanged twice are what they were") {
  SmallEngine small;
  small.engine->initialise(3);
  Ema ema(*small.engine, {.decay = 0.9});
  ema.reset();
  const parallel::LocalPart& part = small.engine->parts().front();
  small.engine->master(part).add_(at::rand_like(small.engine->master(part)));
  const at::Tensor weights = small.engine->master(part).clone();
  const at::Tensor average = ema.value(0).clone();
  {
    const AveragedWeights averaged(&ema);
    CHECK(at::equal(small.engine->master(part), average));
    CHECK(at::equal(ema.value(0), weights));
  }
  CHECK(at::equal(small.engine->master(part), weights));
  CHECK(at::equal(ema.value(0), average));
  const AveragedWeights nothing(nullptr);
}

TEST_CASE("a frozen parameter has no average") {
  SmallEngine small(/*freezes_head=*/true);
  const Ema ema(*small.engine, {.decay = 0.9});
  int64_t elements = 0;
  for (size_t i = 0; i < small.engine->parts().size(); ++i) {
    const std::string& fqn = small.engine->parts()[i].parameter->fqn;
    CHECK(ema.value(i).defined() == (fqn != "head.weight"));
    if (ema.value(i).defined()) elements += ema.value(i).numel();
  }
  CHECK(ema.bytes() == elements * 4);
}

}  // namespace titan::train
