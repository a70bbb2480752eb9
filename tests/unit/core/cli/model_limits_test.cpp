// SPDX-License-Identifier: BSD-3-Clause
// What a model's sizes and parts allow is told by validate, in terms of the
// recipe: lengths, numbers that no machine counts, tensor parallelism.
#include <catch2/catch.hpp>

#include "tests/unit/core/cli/captured_run.h"

namespace titan::cli {
namespace {

std::string refusal(const std::string& recipe,
                    const std::vector<std::string>& settings,
                    const std::string& world = "1") {
  std::vector<std::string> arguments = {
      "validate", recipe_path(recipe), "--world", world};
  for (const std::string& setting : settings)
    arguments.insert(arguments.end(), {"--set", setting});
  const CapturedRun run = run_captured(arguments);
  CHECK(run.out.empty());
  CHECK(run.exit_code == 2);
  return run.err;
}

}  // namespace

TEST_CASE("validate refuses sequences beyond a table of positions", "[unit]") {
  CHECK_THAT(
      refusal("gpt_debug",
              {"training.seq_len=1024", "training.tokens_per_microbatch=1024"}),
      Catch::Contains(
          "[training.seq_len] the model has a table of positions: "
          "expected at most its max_position 512, got 1024. Lower it, "
          "or raise model.config.max_position."));
}

TEST_CASE("validate refuses sizes that cannot be counted", "[unit]") {
  for (const std::string recipe : {"llama3_debug_tinyshakespeare",
                                   "qwen3_debug",
                                   "qwen3_5_debug",
                                   "deepseek_v3_debug",
                                   "gpt_debug"}) {
    INFO(recipe);
    for (const std::string option : {"dim", "num_layers", "vocab_size"}) {
      INFO(option);
      CHECK_THAT(
          refusal(recipe, {"model.config." + option + "=9000000000000000000"}),
          Catch::Contains("[model.config." + option +
                          "] value is out of range: expected at most 1"));
    }
    // Each is possible, their product is not.
    CHECK_THAT(refusal(recipe,
                       {"model.config.vocab_size=1000000000",
                        "model.config.dim=100000000"}),
               Catch::Contains("[model.config] sizes: expected a model of at "
                               "most 9007199254740992 parameters, got 0 and "
                               "then ") &&
                   Catch::Contains("Lower the sizes"));
  }
  CHECK_THAT(refusal("deepseek_v3_debug",
                     {"model.config.moe.num_experts=1000000",
                      "model.config.moe.hidden_dim=1000000000"}),
             Catch::Contains("inner_experts.w1_EFD of shape (1000000, "
                             "1000000000, 256)"));
}

TEST_CASE("validate names what does not go with tensor parallelism", "[unit]") {
  const std::string tp = "parallel.tp=2";
  CHECK_THAT(refusal("gpt_debug",
                     {tp,
                      "model.config.hf.layout=titan",
                      "model.config.attention.qk_norm=width"},
                     "2"),
             Catch::Contains("[parallel.tp] model.config.attention.qk_norm "
                             "width is a norm of all 8 heads: expected tp 1 "
                             "with it, got a rank with 4."));
  CHECK_THAT(
      refusal(
          "gpt_debug",
          {tp, "model.config.hf.layout=titan", "model.config.bias.head=true"},
          "2"),
      Catch::Contains("[parallel.tp] the head lm_head has a bias (titan.gpt: "
                      "model.config.bias.head): expected tp 1 with it, got "
                      "2."));
  CHECK_THAT(
      refusal("deepseek_v3_debug",
              {tp,
               "model.config.num_dense_layers=6",
               "model.config.mtp.num_layers=1"},
              "2"),
      Catch::Contains("[parallel.tp] mtp_layers.lm_head is a head beside the "
                      "model's own, as that of multi-token prediction "
                      "(model.config.mtp.num_layers): expected tp 1 with it, "
                      "got 2."));
}

}  // namespace titan::cli
