// SPDX-License-Identifier: BSD-3-Clause
// Mixtures of experts in training (moe/moe.cpp): losses, gradients and the bias
// that balances experts are the same under recompute, on several data ranks and
// stages, and after a resume, in float64.
#include <array>

#include <ATen/ATen.h>
#include <catch2/catch.hpp>

#include <titan/text.h>

#include "tests/distributed/layout_run.h"

namespace titan::layout {
namespace {

// Of the toy: 8 microbatches of 32 tokens, 2 experts for each.
constexpr double kCopiesPerStep = 256 * 2;
constexpr double kCoeff = 0.01;

const RecipeFolder& moe_folder() {
  static const RecipeFolder made("{use: test.moe}");
  return made;
}

std::vector<std::string> with_moe(std::vector<std::string> more = {}) {
  more.emplace_back("plugins.load=[{path: " TITAN_MOE_MODEL "}]");
  return more;
}

RunRecord run_moe(std::vector<dist::Axis> axes,
                  std::vector<std::string> overrides = {},
                  int64_t num_steps = 3) {
  return run(moe_folder(),
             {.overrides = with_moe(std::move(overrides)),
              .axes = std::move(axes),
              .num_steps = num_steps});
}

at::Tensor buffer_of(const RunRecord& record, int64_t layer, const char* name) {
  return record.buffers.at(text("layers.", layer, ".moe.", name));
}

// The rule once more, with the counts of the step.
at::Tensor moved(const at::Tensor& bias, const at::Tensor& counts) {
  const at::Tensor delta = (counts.mean() - counts).sign() * kCoeff;
  return bias + delta - delta.mean();
}

}  // namespace

TEST_CASE("mixtures of experts train the same in every layout") {
  const RunRecord one = run_moe({});
  CHECK(one.steps.front().added_losses.at("balance") > 0);
  const std::pair<std::vector<dist::Axis>, std::vector<std::string>> layouts[] =
      {{{}, {"recompute.mode=full"}},
       {{},
        {"recompute.mode=selective",
         "recompute.save_ops=[titan.moe_router/1, titan.grouped_linear/1]"}},
       {{{"dp_shard", 2}}, {}},
       {{{"dp_replicate", 2}}, {"recompute.mode=full"}},
       {{{"pp", 2}, {"dp_shard", 2}}, {"recompute.mode=full"}}};
  for (const auto& [axes, overrides] : layouts) {
    CAPTURE(axes.size(), overrides);
    const RunRecord other = run_moe(axes, overrides);
    check_same(other, one, kTolerance);
    REQUIRE(other.buffers.size() == one.buffers.size());
    // Counts are whole numbers: not a bit may differ.
    for (const auto& [name, tensor] : one.buffers) {
      CAPTURE(name);
      CHECK(at::equal(tensor, other.buffers.at(name)));
    }
  }
}

TEST_CASE("mixtures of experts learn, and the bias spreads the work") {
  // How uneven the last step's counts are, over all layers.
  const auto unevenness = [](const char* coeff) {
    RunPlan plan{.overrides = with_moe(
                     {"training.steps=24",
                      "optimizer.config.lr=3e-2",
                      "model.config.balance_loss_coeff=0",
                      text("model.config.load_balance_coeff=", coeff)}),
                 .num_steps = 24};
    plan.keeps_gradients = false;
    const RunRecord record = run(moe_folder(), plan);
    // Bytes drawn alike: ln 256. The text has 17 of them.
    CHECK(record.steps.front().main_loss > 5);
    CHECK(record.steps.back().main_loss < 3);
    double sum = 0;
    for (int64_t layer = 0; layer < 3; ++layer)
      sum +=
          buffer_of(record, layer, "tokens_per_expert_E").std().item<double>();
    return sum;
  };
  CHECK(unevenness("0.02") < 0.7 * unevenness("0"));
}

TEST_CASE("the bias follows each step's counts, each token counted once") {
  for (const char* mode : {"none", "full"}) {
    CAPTURE(mode);
    std::vector<RunRecord> runs;
    for (int64_t steps = 1; steps <= 3; ++steps)
      runs.push_back(run_moe({}, {text("recompute.mode=", mode)}, steps));
    for (int64_t layer = 0; layer < 3; ++layer) {
      at::Tensor bias = at::zeros({8}, at::kFloat);
      for (const RunRecord& record : runs) {
        const at::Tensor counts =
            buffer_of(record, layer, "tokens_per_expert_E");
        CHECK(counts.sum().item<double>() == kCopiesPerStep);
        bias = moved(bias, counts);
        CHECK(at::equal(buffer_of(record, layer, "expert_bias_E"), bias));
      }
      CHECK(bias.abs().max().item<double>() > 0);
      CHECK(std::abs(bias.sum().item<double>()) < 1e-7);
    }
  }
}

TEST_CASE("a resumed mixture of experts has the same bits") {
  const RecipeFolder own("{use: test.moe}");
  RunPlan plan{.overrides = with_moe(), .num_steps = 4};
  plan.keeps_gradients = false;
  const RunRecord whole = run(own, plan);
  plan.num_steps = 2;
  plan.saves = true;
  run(own, plan);
  plan.saves = false;
  plan.resumes = true;
  const RunRecord resumed = run(own, plan);
  for (size_t i = 0; i < 2; ++i)
    CHECK(resumed.steps[i].loss == whole.steps[i + 2].loss);
  for (const auto& [name, tensor] : whole.buffers)
    CHECK(at::equal(tensor, resumed.buffers.at(name)));
}

TEST_CASE("without a coefficient there is no bias, and with zero it stays") {
  const RunRecord without =
      run_moe({}, {"model.config.load_balance_coeff=null"}, 1);
  CHECK(without.buffers.size() == 3);
  const RunRecord fixed = run_moe({}, {"model.config.load_balance_coeff=0"}, 1);
  CHECK(fixed.buffers.size() == 6);
  CHECK(buffer_of(fixed, 1, "expert_bias_E").eq(0).all().item<bool>());
  CHECK(fixed.steps[0].loss == without.steps[0].loss);
}

}  // namespace titan::layout
