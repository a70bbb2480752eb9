// SPDX-License-Identifier: BSD-3-Clause
// World size n == world size 1: loss, gradient norm and every gradient of three
// optimizer steps in float64, through recipe, plugins and planners.
#include <catch2/catch.hpp>

#include "tests/distributed/layout_run.h"

namespace titan::layout {
namespace {

// A layout changes only the order of sums. Sums of up to 256 tokens and three
// AdamW steps in float64 leave 1e-14 to 1e-13 (printed by each run);
// docs/numerics.md allows 1e-12.

const RecipeFolder& folder() {
  static const RecipeFolder made;
  return made;
}

const RunRecord& single_rank() {
  static const RunRecord record = run(folder(), {});
  return record;
}

void check_layout(std::vector<dist::Axis> axes,
                  std::vector<std::string> overrides = {}) {
  check_same(run(folder(),
                 {.overrides = std::move(overrides), .axes = std::move(axes)}),
             single_rank(),
             kTolerance);
}

}  // namespace

TEST_CASE("FSDP over 2 ranks trains as 1 rank does") {
  check_layout({{"dp_shard", 2}});
}

TEST_CASE("TP over 2 ranks trains as 1 rank does") {
  check_layout({{"tp", 2}});
}

TEST_CASE("PP over 2 stages trains as 1 rank does") {
  check_layout({{"pp", 2}});
}

TEST_CASE("PP over 2 stages with GPipe trains as 1 rank does") {
  check_layout({{"pp", 2}}, {"parallel.schedule=gpipe"});
}

TEST_CASE("PP over 4 stages trains as 1 rank does") {
  check_layout({{"pp", 4}});
}

// tokens_per_step is what is fixed: without it a step is one microbatch on each
// data rank, so two ranks see twice the tokens and another loss.
TEST_CASE("the first loss of a step of given tokens is that of every layout") {
  const auto first_loss = [](std::vector<dist::Axis> axes,
                             const char* precision) {
    return run(folder(),
               {.overrides = {precision},
                .axes = std::move(axes),
                .num_steps = 1,
                .keeps_gradients = false})
        .steps.front()
        .loss;
  };
  for (const char* precision : {"precision=fp32", "precision=fp64"}) {
    const double one = first_loss({}, precision);
    for (const auto& axes :
         {std::vector<dist::Axis>{{"dp_shard", 2}},
          {{"dp_shard", 4}},
          {{"dp_replicate", 2}},
          {{"tp", 2}},
          {{"pp", 2}},
          {{"dp_replicate", 2}, {"dp_shard", 2}, {"pp", 2}}}) {
      CAPTURE(precision, axes.front().name, axes.size());
      CHECK(first_loss(axes, precision) == Approx(one).epsilon(1e-6));
    }
  }
}

TEST_CASE("DDP over 2 ranks trains as 1 rank does") {
  check_layout({{"dp_replicate", 2}});
}

TEST_CASE("HSDP over 2 x 2 ranks trains as 1 rank does") {
  check_layout({{"dp_replicate", 2}, {"dp_shard", 2}});
}

TEST_CASE("FSDP x TP x PP over 8 ranks train as 1 rank does") {
  check_layout({{"pp", 2}, {"dp_shard", 2}, {"tp", 2}});
}

TEST_CASE("FSDP x TP with full recompute train as 1 rank does") {
  check_layout({{"dp_shard", 2}, {"tp", 2}}, {"recompute.mode=full"});
}

TEST_CASE("TP with biases trains as 1 rank does") {
  const std::vector<std::string> biases = {"model.config.attention_bias=true",
                                           "model.config.mlp_bias=true"};
  check_same(run(folder(), {.overrides = biases, .axes = {{"tp", 2}}}),
             run(folder(), {.overrides = biases}),
             kTolerance);
}

TEST_CASE("FSDP and TP with tied embeddings train as 1 rank does") {
  const std::vector<std::string> tied = {"model.config.tie_embeddings=true"};
  check_same(
      run(folder(), {.overrides = tied, .axes = {{"dp_shard", 2}, {"tp", 2}}}),
      run(folder(), {.overrides = tied}),
      kTolerance);
}

// Norms of q and k are whole between a column and a row cut, where each rank
// sees only its heads. The flavor ties its embeddings (case NUM-11).
TEST_CASE("FSDP x TP with norms of heads train as 1 rank does") {
  const RecipeFolder qwen3(
      "{use: titan.qwen3, flavor: debugmodel, config: {dim: 64, num_layers: 4, "
      "num_heads: 4, num_kv_heads: 2, head_dim: 24, hidden_dim: 96, "
      "vocab_size: 256, sliding_window: 16, sliding_layers: [1, 3]}}");
  check_same(run(qwen3, {.axes = {{"dp_shard", 2}, {"tp", 2}}}),
             run(qwen3, {}),
             kTolerance);
}

// Biases on both sides of the cut, a table of positions, one table of tokens.
TEST_CASE("FSDP x TP with a GPT-2 by options trains as 1 rank does") {
  const RecipeFolder gpt(
      "{use: titan.gpt, config: {dim: 64, num_layers: 4, num_heads: 4, "
      "vocab_size: 256, max_position: 64, tie_embeddings: true, norm: {kind: "
      "layer, bias: true}, positions: {kind: learned}, feed_forward: "
      "{activation: gelu_tanh, gated: false}, bias: {qkv: true, output: true, "
      "feed_forward: true}}}");
  check_same(run(gpt, {.axes = {{"dp_shard", 2}, {"tp", 2}}}),
             run(gpt, {}),
             kTolerance);
}

// Both halves of a block are partial sums of the ranks; scores are capped.
TEST_CASE("FSDP x TP with parallel blocks and caps trains as 1 rank does") {
  const RecipeFolder gpt(
      "{use: titan.gpt, config: {dim: 64, num_layers: 4, num_heads: 4, "
      "num_kv_heads: 2, vocab_size: 256, block: parallel, rope: {fraction: "
      "0.5}, attention: {logit_cap: 4, window: 16, layer_types: "
      "[sliding_attention, full_attention]}, logits: {cap: 8}}}");
  check_same(run(gpt, {.axes = {{"dp_shard", 2}, {"tp", 2}}}),
             run(gpt, {}),
             kTolerance);
}

namespace {

RecipeFolder linear_attention(const std::string& more = "") {
  return RecipeFolder(
      "{use: titan.qwen3_5, flavor: debugmodel, config: {dim: 64, num_layers: "
      "4, num_heads: 4, num_kv_heads: 2, head_dim: 16, hidden_dim: 96, "
      "vocab_size: 256, linear_attention: {num_key_heads: 2, num_value_heads: "
      "4, key_head_dim: 8, value_head_dim: 12}" +
      more + "}}");
}

}  // namespace

// Each rank has some of the heads of convolution, gate and state, in blocks
// whose mixers are of two kinds.
TEST_CASE("linear attention in three of four blocks trains as on 1 rank") {
  const RecipeFolder recipe = linear_attention();
  const RunRecord one = run(recipe, {});
  for (const auto& axes : {std::vector<dist::Axis>{{"tp", 2}},
                           {{"pp", 2}, {"dp_shard", 2}, {"tp", 2}}})
    check_same(run(recipe, {.axes = axes}), one, kTolerance);
}

TEST_CASE("linear attention with experts trains as on 1 rank") {
  const RecipeFolder recipe = linear_attention(
      ", moe: {num_experts: 5, top_k: 2, hidden_dim: 24, shared_hidden_dim: "
      "16, load_balance_coeff: 0.01}");
  check_same(run(recipe, {.axes = {{"pp", 2}, {"dp_shard", 2}}}),
             run(recipe, {}),
             kTolerance);
}

// What latent attention keeps whole lies between cuts.
TEST_CASE("FSDP x TP with latents trains as 1 rank does") {
  const RecipeFolder latent(
      "{use: titan.deepseek_v3, flavor: debugmodel, config: {dim: 64, "
      "num_layers: 3, num_dense_layers: 3, num_heads: 4, q_lora_rank: 20, "
      "kv_lora_rank: 16, qk_nope_head_dim: 12, qk_rope_head_dim: 8, "
      "v_head_dim: 10, hidden_dim: 96, vocab_size: 256}}");
  check_same(run(latent, {.axes = {{"dp_shard", 2}, {"tp", 2}}}),
             run(latent, {}),
             kTolerance);
}

// The bias follows counts over all ranks, the balance loss documents of all;
// embedding and head are used a second time, by what predicts further tokens.
TEST_CASE("FSDP with balanced experts and further tokens is as 1 rank") {
  const RecipeFolder experts(
      "{use: titan.deepseek_v3, flavor: debugmodel, config: {dim: 64, "
      "num_layers: 3, num_heads: 4, kv_lora_rank: 16, qk_nope_head_dim: 12, "
      "qk_rope_head_dim: 8, v_head_dim: 10, hidden_dim: 96, vocab_size: 256, "
      "moe: {score: sigmoid, hidden_dim: 24, load_balance_coeff: 0.01, "
      "balance_loss_coeff: 0.1}, mtp: {num_layers: 1}}}");
  check_same(
      run(experts, {.axes = {{"dp_shard", 4}}}), run(experts, {}), kTolerance);
}

TEST_CASE("accumulating microbatches changes no gradient") {
  // Four microbatches of two rows instead of eight of one.
  check_layout({}, {"training.tokens_per_microbatch=64"});
}

}  // namespace titan::layout
