// SPDX-License-Identifier: BSD-3-Clause
// What the ABI promises a model beyond llama3 (toy/toy.cpp): towers with side
// inputs, losses of its own, buffers. Each the same under recompute and on
// several ranks, in float64.
#include <cmath>

#include <catch2/catch.hpp>

#include <titan/text.h>

#include "core/tokenizer/tokenizer.h"
#include "core/train/assemble.h"
#include "core/train/session.h"
#include "core/train/step.h"
#include "core/train/step_loss.h"
#include "tests/distributed/layout_run.h"

namespace titan::layout {
namespace {

// A layout changes only the order of sums: see layout_equality_test.cpp.

std::vector<std::string> with_toy(std::vector<std::string> more = {}) {
  more.emplace_back("plugins.load=[{path: " TITAN_TOY_MODEL "}]");
  return more;
}

const RecipeFolder& toy_folder() {
  static const RecipeFolder made("{use: test.toy}");
  return made;
}

RunRecord run_toy(std::vector<std::string> overrides,
                  std::vector<dist::Axis> axes = {}) {
  return run(
      toy_folder(),
      {.overrides = with_toy(std::move(overrides)), .axes = std::move(axes)});
}

struct Layout {
  std::vector<dist::Axis> axes;
  std::vector<std::string> overrides;
};

// Recompute, data ranks, stages, and all of them.
const std::vector<Layout>& layouts() {
  static const std::vector<Layout> all = {
      {{}, {"recompute.mode=full"}},
      {{{"dp_shard", 2}}, {}},
      {{{"dp_replicate", 2}}, {"recompute.mode=full"}},
      {{{"pp", 2}}, {}},
      {{{"pp", 3}}, {"recompute.mode=full"}},
      {{{"pp", 2}, {"dp_shard", 2}}, {"recompute.mode=full"}}};
  return all;
}

std::string describe(const Layout& layout) {
  std::string name = layout.overrides.empty() ? "" : layout.overrides.front();
  for (const dist::Axis& axis : layout.axes)
    name += text(' ', axis.name, '=', axis.size);
  return name;
}

RunRecord run_layout(const Layout& layout, std::vector<std::string> overrides) {
  overrides.insert(
      overrides.end(), layout.overrides.begin(), layout.overrides.end());
  return run_toy(std::move(overrides), layout.axes);
}

}  // namespace

TEST_CASE("a tower's side inputs train as the same features in the carry") {
  const RunRecord carried = run_toy({"model.config.towers=carry"});
  check_same(run_toy({}), carried, kTolerance);
  for (const Layout& layout : layouts()) {
    CAPTURE(describe(layout));
    check_same(run_layout(layout, {}), carried, kTolerance);
  }
}

TEST_CASE("losses that a model adds are reported, each over its own count") {
  for (const char* normaliser :
       {"tokens", "all_tokens", "segments", "microbatches"}) {
    CAPTURE(normaliser);
    const RunRecord one = run_toy({text("model.config.losses=", normaliser)});
    for (const StepRecord& step : one.steps) {
      REQUIRE(step.added_losses.size() == 2);
      CHECK(step.added_losses.at("square") > 0);
      CHECK(step.loss ==
            Approx(step.main_loss + step.added_losses.at("square") +
                   step.added_losses.at("feature"))
                .epsilon(1e-14));
    }
  }
}

TEST_CASE("losses that a model adds do not depend on the layout") {
  // Not by microbatches: their number is the layout's.
  const std::vector<std::string> overrides = {"model.config.losses=segments"};
  const RunRecord one = run_toy(overrides);
  for (const Layout& layout : layouts()) {
    CAPTURE(describe(layout));
    const RunRecord other = run_layout(layout, overrides);
    check_same(other, one, kTolerance);
    for (size_t i = 0; i < one.steps.size(); ++i)
      for (const auto& [name, value] : one.steps[i].added_losses)
        CHECK(std::abs(other.steps[i].added_losses.at(name) - value) <=
              kTolerance * std::abs(value));
  }
}

TEST_CASE("the gradient is that of the reported loss, added terms included") {
  train::SessionOptions options;
  options.overrides =
      with_toy({text("data.files=[", toy_folder().text_file(), "]"),
                "model.config.losses=segments"});
  train::Session session(toy_folder().recipe(), options);
  dist::Mesh mesh = dist::Mesh::single();
  const auto training = train::assemble(
      session, mesh, std::shared_ptr<const Tokenizer>(load_tokenizer("bytes")));
  training->engine->initialise(7);
  Microbatch host;
  train::StepBatch batch;
  for (int64_t i = 0; i < training->options.microbatches; ++i) {
    REQUIRE(training->data->next(host));
    batch.add(host);
  }
  const train::Counts counts =
      train::count_batches(batch.microbatches, batch.num_targets);
  const auto loss = [&] {
    training->engine->clear_gradients();
    return train::all_reduce_losses(
               training->executor->train(batch.microbatches, counts),
               counts,
               mesh)
        .total;
  };
  loss();
  for (const parallel::LocalPart& part : training->engine->parts()) {
    // The derivative along the gradient is its norm. Central differences of
    // step 1e-5 leave 1e-10 of curvature in float64; slack 100.
    const at::Tensor gradient = training->engine->gradient(part).clone();
    const double norm = gradient.norm().item<double>();
    at::Tensor master = training->engine->master(part);
    // What goes through the constant is a change of the loss, but no gradient.
    if (norm == 0 || part.parameter->fqn == "patch.table.weight") continue;
    const at::Tensor step = gradient * (1e-5 / norm);
    master.add_(step);
    const double above = loss();
    master.sub_(step * 2);
    const double below = loss();
    master.add_(step);
    loss();
    CAPTURE(part.parameter->fqn);
    CHECK((above - below) / 2e-5 == Approx(norm).epsilon(1e-8));
  }
}

TEST_CASE("an unknown normaliser names the counts that there are") {
  CHECK_THROWS_WITH(run_toy({"model.config.losses=cats"}),
                    Catch::Contains("normaliser") && Catch::Contains("cats"));
}

TEST_CASE("step statistics and persistent buffers follow the step") {
  const std::vector<std::string> overrides = {"model.config.buffers=true"};
  const RunRecord one = run_toy(overrides);
  REQUIRE(one.buffers.size() == 15);
  const auto value = [&](const char* name) {
    return one.buffers.at(text("layers.1.counters.", name)).item<double>();
  };
  // Eight microbatches in each of three steps.
  CHECK(value("total") == 24);
  // Nothing was counted before the first step.
  CHECK(value("bias") == Approx(0.02));
  CHECK(value("sum") > value("peak"));
  CHECK(value("peak") > 0);
  for (const Layout& layout : layouts()) {
    CAPTURE(describe(layout));
    const RunRecord other = run_layout(layout, overrides);
    check_same(other, one, kTolerance);
    REQUIRE(other.buffers.size() == one.buffers.size());
    for (const auto& [name, tensor] : one.buffers) {
      CAPTURE(name);
      CHECK(tensor.allclose(other.buffers.at(name), kTolerance, 0));
    }
  }
}

TEST_CASE("buffers are in checkpoints: a resumed run has the same bits") {
  const RecipeFolder own("{use: test.toy}");
  const auto overrides = with_toy({"model.config.buffers=true"});
  const RunRecord whole = run(
      own, {.overrides = overrides, .num_steps = 4, .keeps_gradients = false});
  run(own,
      {.overrides = overrides,
       .num_steps = 2,
       .keeps_gradients = false,
       .saves = true});
  for (const std::vector<dist::Axis>& axes :
       {std::vector<dist::Axis>{}, {{"pp", 2}}}) {
    const RunRecord resumed = run(own,
                                  {.overrides = overrides,
                                   .axes = axes,
                                   .num_steps = 2,
                                   .keeps_gradients = false,
                                   .resumes = true});
    for (size_t i = 0; i < 2; ++i)
      CHECK(resumed.steps[i].loss ==
            Approx(whole.steps[i + 2].loss).epsilon(axes.empty() ? 0 : 1e-13));
    for (const auto& [name, tensor] : whole.buffers)
      CHECK(tensor.allclose(resumed.buffers.at(name), kTolerance, 0));
  }
}

}  // namespace titan::layout
