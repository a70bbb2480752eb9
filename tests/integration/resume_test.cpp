// SPDX-License-Identifier: BSD-3-Clause
// A run that was cut off and resumed ends in the same bits as one that was not:
// parameters, optimizer states, data position, losses of every step.
#include <catch2/catch.hpp>

#include "tests/integration/tiny_run.h"

using namespace titan::integration;

namespace {

void check_resumes_bit_identically(
    const Settings& settings,
    const std::vector<std::string>& options = {}) {
  const TinyRun run;
  const Finished whole = run.train(settings, options);
  INFO(whole.err);
  REQUIRE(whole.exit_code == 0);
  REQUIRE(steps_in(run.checkpoints()) == std::vector<std::int64_t>{4, 8, 12});
  const auto files = state_files(run.checkpoint(12));
  const auto losses = step_losses(run.run());
  REQUIRE(losses.size() == 12);
  // Resumed at 4; then, from what the resumed run saved, once more at 8.
  for (const std::int64_t step : {4, 8}) {
    run.cut_after(step);
    const Finished rest = run.train(settings, options);
    INFO(rest.err);
    REQUIRE(rest.exit_code == 0);
    CHECK(rest.err.find("resumed from") != std::string::npos);
    CHECK(rest.out == whole.out);
    CHECK(state_files(run.checkpoint(12)) == files);
    CHECK(step_losses(run.run()) == losses);
  }
}

}  // namespace

TEST_CASE("a resumed run is bit-identical to an uninterrupted one",
          "[integration]") {
  check_resumes_bit_identically({});
}

TEST_CASE("resume is bit-identical in bf16", "[integration]") {
  check_resumes_bit_identically({"precision=bf16"});
}

TEST_CASE(
    "resume is bit-identical with accumulation, documents shuffled over "
    "epochs, and validation",
    "[integration]") {
  check_resumes_bit_identically({"training.tokens_per_step=96",
                                 "data.use=jsonl",
                                 "data.files=[\"${recipe_dir}/lines.jsonl\"]",
                                 "data.epochs=3",
                                 "data.validation_fraction=0.1",
                                 "validation.interval=4",
                                 "validation.at_end=true",
                                 "generate.at_end=true",
                                 "generate.max_tokens=8"});
}

TEST_CASE("resume is bit-identical for two sharded ranks", "[integration]") {
  check_resumes_bit_identically({"parallel.dp_shard=2"}, {"--sim-ranks", "2"});
}

TEST_CASE("resume is bit-identical with frozen layers and averaged weights",
          "[integration]") {
  check_resumes_bit_identically(
      {"optimizer.groups=[{match: tok_embeddings.*, frozen: true}]",
       "ema={decay: 0.9, start: 2, every: 2, validate: true}",
       "data.validation_fraction=0.1",
       "validation.interval=3",
       "validation.at_end=true"});
}

TEST_CASE("a Qwen3 with a window resumes bit-identically and generates",
          "[integration]") {
  check_resumes_bit_identically({"model.use=titan.qwen3",
                                 "model.config.head_dim=12",
                                 "model.config.tie_embeddings=true",
                                 "model.config.sliding_window=5",
                                 "model.config.sliding_layers=[1]",
                                 "generate.at_end=true",
                                 "generate.max_tokens=24"});
}

TEST_CASE("a Qwen3.5 resumes bit-identically and generates", "[integration]") {
  check_resumes_bit_identically(
      {"model.use=titan.qwen3_5",
       "model.config.head_dim=16",
       "model.config.full_attention_layers=[1]",
       "model.config.linear_attention={num_key_heads: 2, num_value_heads: 4, "
       "key_head_dim: 8, value_head_dim: 8}",
       "model.config.moe={num_experts: 6, top_k: 2, hidden_dim: 24, "
       "shared_hidden_dim: 16, load_balance_coeff: 0.01}",
       "generate.at_end=true",
       "generate.max_tokens=24"});
}

// The bias of the experts' choice is state of the run.
TEST_CASE("a Qwen3 with experts resumes bit-identically and generates",
          "[integration]") {
  check_resumes_bit_identically(
      {"model.use=titan.qwen3",
       "model.config.head_dim=12",
       "model.config.moe={num_experts: 6, top_k: 2, hidden_dim: 24, "
       "sparse_step: 2, load_balance_coeff: 0.01}",
       "generate.at_end=true",
       "generate.max_tokens=24"});
}

TEST_CASE("a GPT-2 by options resumes bit-identically and generates",
          "[integration]") {
  check_resumes_bit_identically(
      {"model.use=titan.gpt",
       "model.config.norm={kind: layer, bias: true}",
       "model.config.positions.kind=learned",
       "model.config.max_position=64",
       "model.config.tie_embeddings=true",
       "model.config.feed_forward={activation: gelu_tanh, gated: false}",
       "model.config.bias={qkv: true, output: true, feed_forward: true}",
       "generate.at_end=true",
       "generate.max_tokens=24"});
}

TEST_CASE("a Gemma 2 by options resumes bit-identically and generates",
          "[integration]") {
  check_resumes_bit_identically(
      {"model.use=titan.gpt",
       "model.config.norm={place: both, unit_offset: true}",
       "model.config.attention={logit_cap: 5, window: 6, layer_types: "
       "[sliding_attention, full_attention]}",
       "model.config.logits.cap=8",
       "precision=bf16",
       "generate.at_end=true",
       "generate.max_tokens=24"});
}

// Latent attention, a bias that moves while a loss balances too, and a block
// that predicts one token further.
TEST_CASE("a DeepSeek-V3 resumes bit-identically and generates",
          "[integration]") {
  check_resumes_bit_identically(
      {"model=null",
       "model={use: titan.deepseek_v3, config: {dim: 32, num_layers: 2, "
       "num_dense_layers: 1, num_heads: 2, q_lora_rank: 12, kv_lora_rank: 8, "
       "qk_nope_head_dim: 8, qk_rope_head_dim: 4, v_head_dim: 6, "
       "hidden_dim: 64, vocab_size: 256, max_position: 64, "
       "moe: {num_experts: 8, top_k: 2, hidden_dim: 12, num_groups: 4, "
       "num_limited_groups: 2, load_balance_coeff: 0.01, "
       "balance_loss_coeff: 0.01}, mtp: {num_layers: 1}}}",
       "generate.at_end=true",
       "generate.max_tokens=24"});
}
