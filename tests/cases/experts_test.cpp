// SPDX-License-Identifier: BSD-3-Clause
// A model with experts, a bias that balances them and a block that predicts
// further: what its statistics count, and when the bias moves.
#include <catch2/catch.hpp>

#include "tests/cases/small_run.h"

namespace titan::cases {
namespace {

constexpr const char* kBalancedModel =
    "model={use: titan.deepseek_v3, config: {dim: 32, num_layers: 2, "
    "num_dense_layers: 1, num_heads: 2, q_lora_rank: 12, kv_lora_rank: 8, "
    "qk_nope_head_dim: 8, qk_rope_head_dim: 4, v_head_dim: 6, hidden_dim: 48, "
    "vocab_size: 260, max_position: 64, moe: {num_experts: 8, top_k: 2, "
    "hidden_dim: 12, num_groups: 4, num_limited_groups: 2, "
    "load_balance_coeff: 0.01, balance_loss_coeff: 0.1}, "
    "mtp: {num_layers: 1}}}";

using BufferValues = std::map<std::string, at::Tensor>;

BufferValues buffers_of(train::Training& training) {
  BufferValues buffers;
  for (const auto& entry : training.engine->buffers().entries())
    buffers[entry.buffer->fqn] = entry.value.clone();
  return buffers;
}

bool equal_buffers(const BufferValues& a, const BufferValues& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [name, value] : a)
    if (!at::equal(value, b.at(name))) return false;
  return true;
}

struct ExpertRun {
  RunFacts facts;
  BufferValues buffers;
};

ExpertRun run_balanced(
    Overrides overrides,
    const SmallRun::Look& before = [](train::Training&) {}) {
  overrides.insert(overrides.begin(), {"model=null", kBalancedModel});
  ExpertRun result;
  result.facts =
      SmallRun(overrides).run(before, [&](train::Training& training) {
        if (training.mesh.rank() == 0) result.buffers = buffers_of(training);
      });
  return result;
}

}  // namespace

// Cases NUM-15 and NUM-17.
TEST_CASE("recompute counts experts' tokens once and changes no bit") {
  const std::string mesh =
      GENERATE(as<std::string>{}, "parallel.dp_shard=1", "parallel.dp_shard=2");
  INFO(mesh);
  const Overrides base = {mesh, "training.tokens_per_microbatch=64"};
  const auto with = [&](const std::string& more) {
    Overrides overrides = base;
    overrides.push_back(more);
    return run_balanced(overrides);
  };
  const ExpertRun kept = run_balanced(base);
  REQUIRE(kept.buffers.size() == 4);  // bias and counts, of both blocks
  for (const char* mode :
       {"recompute=full",
        "recompute={mode: selective, save_ops: [titan.attention/1]}"}) {
    INFO(mode);
    const ExpertRun again = with(mode);
    CHECK(equal_bits(again.facts, kept.facts));
    CHECK(equal_buffers(again.buffers, kept.buffers));
  }
}

// Case NUM-17: every token of a step is routed and counted, one without a
// target too, in each block that routes.
TEST_CASE("experts' counts are the step's tokens times the experts of each") {
  for (const auto& [name, value] : run_balanced({}).buffers) {
    INFO(name);
    if (name.find("tokens_per_expert_E") != std::string::npos)
      CHECK(value.sum().item<double>() == 256 * 2);
    else
      CHECK(std::abs(value.sum().item<double>()) < 1e-6);
  }
}

// Case NUM-17.
TEST_CASE("evaluating between steps leaves experts' counts and bias") {
  run_balanced({}, [](train::Training& training) {
    train::train_step(training, 0);
    const BufferValues before = buffers_of(training);
    module::BatchTensors batch;
    batch.tokens = at::arange(32, at::kLong);
    batch.labels = batch.tokens + 1;
    batch.loss_weight = at::ones({32});
    batch.doc_id = at::zeros({32}, at::kInt);
    batch.cu_seqlens = at::tensor({0, 32}, at::kInt);
    batch.positions = at::arange(32, at::kInt);
    batch.global_index = batch.tokens;
    CHECK(training.executor->evaluate(batch).item<double>() > 0);
    CHECK(equal_buffers(buffers_of(training), before));
  });
}

// Case NUM-18.
TEST_CASE("a step that is skipped moves no expert bias") {
  run_balanced({"training.non_finite=skip"}, [](train::Training& training) {
    train::train_step(training, 0);
    const BufferValues before = buffers_of(training);
    const parallel::LocalPart& part = training.engine->parts().front();
    const at::Tensor good = training.engine->master(part).clone();
    training.engine->master(part).fill_(
        std::numeric_limits<double>::quiet_NaN());
    training.engine->invalidate();
    CHECK(train::train_step(training, 1).outcome ==
          train::StepOutcome::kSkipped);
    CHECK(equal_buffers(buffers_of(training), before));
    training.engine->master(part).copy_(good);
    training.engine->invalidate();
  });
}

}  // namespace titan::cases
