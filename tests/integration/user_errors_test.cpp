// SPDX-License-Identifier: BSD-3-Clause
// What goes wrong by a person's hand: exit code 2, a message that names the
// place and what was expected, and no run folder left behind.
#include <catch2/catch.hpp>

#include "tests/integration/tiny_run.h"

using namespace titan::integration;

namespace {

void check_refused(const TinyRun& run,
                   const Finished& result,
                   const std::vector<std::string>& texts) {
  INFO(result.err);
  CHECK(result.exit_code == 2);
  CHECK(result.out.empty());
  for (const std::string& text : texts) {
    INFO("expected in the message: " << text);
    CHECK(result.err.find(text) != std::string::npos);
  }
  CHECK(result.err.find("bug") == std::string::npos);
  CHECK_FALSE(std::filesystem::exists(run.run()));
}

}  // namespace

TEST_CASE("a recipe that is not there is named", "[integration]") {
  const TinyRun run;
  check_refused(
      run,
      run_titan_process({"train", (run.folder() / "none.yaml").string()}),
      {"none.yaml"});
}

TEST_CASE("an unknown key is named with the nearest one", "[integration]") {
  const TinyRun run;
  check_refused(run,
                run.train({"training.max_grad_nrom=1"}),
                {"training.max_grad_nrom", "max_grad_norm"});
  check_refused(run,
                run.train({"optimizer.config.lrr=1"}),
                {"optimizer.config.lrr", "lr"});
  check_refused(
      run, run.train({"model.config.dimm=1"}), {"model.config.dimm", "dim"});
}

TEST_CASE("an unknown model or optimizer is named with the nearest one",
          "[integration]") {
  const TinyRun run;
  check_refused(run,
                run.train({"model.use=titan.lama3"}),
                {"model.use", "titan.lama3", "titan.llama3"});
  check_refused(run,
                run.train({"optimizer.use=titan.adam"}),
                {"optimizer.use", "titan.adam", "titan.adamw"});
}

TEST_CASE("a value out of range is named with what was expected",
          "[integration]") {
  const TinyRun run;
  check_refused(run, run.train({"training.steps=0"}), {"training.steps"});
  check_refused(run, run.train({"precision=fp16"}), {"precision", "Use bf16"});
  check_refused(run,
                run.train({"training.tokens_per_step=40"}),
                {"training.tokens_per_step", "32"});
}

TEST_CASE("a network that no export can say is refused before the first step",
          "[integration]") {
  const TinyRun run;
  const Settings settings = {
      "model=null",
      "model={use: titan.deepseek_v3, config: {dim: 16, num_layers: 1, "
      "num_dense_layers: 1, num_heads: 1, q_lora_rank: 0, kv_lora_rank: 4, "
      "qk_nope_head_dim: 4, qk_rope_head_dim: 2, v_head_dim: 4, hidden_dim: "
      "16, "
      "vocab_size: 260, max_position: 64, latent_norm_eps: 1e-5}}",
      "checkpoint.export_hf=true"};
  check_refused(run,
                run.train(settings),
                {"[model.latent_norm_eps] Hugging Face's is fixed"});
  const Settings balanced = {
      "model=null",
      "model={use: titan.qwen3, config: {dim: 16, num_layers: 1, num_heads: 1, "
      "num_kv_heads: 1, head_dim: 8, hidden_dim: 16, vocab_size: 260, "
      "max_position: 64, moe: {num_experts: 2, top_k: 1, hidden_dim: 8, "
      "load_balance_coeff: 0.01}}}",
      "checkpoint.export_hf=true"};
  check_refused(run,
                run.train(balanced),
                {"[model.moe.load_balance_coeff] Hugging Face's qwen3_moe has "
                 "no bias of experts"});
}

TEST_CASE("data that cannot be read is named", "[integration]") {
  const TinyRun run;
  check_refused(run,
                run.train({"data.files=[\"${recipe_dir}/none.txt\"]"}),
                {"none.txt"});
  put_file(run.folder() / "broken.jsonl", "{\"text\": \"a\"}\n{\"text\": \n");
  check_refused(run,
                run.train({"data.use=jsonl",
                           "data.files=[\"${recipe_dir}/broken.jsonl\"]"}),
                {"broken.jsonl", "2"});
}

TEST_CASE("a tokenizer with ids that the model lacks is refused",
          "[integration]") {
  const TinyRun run;
  check_refused(run, run.train({"model.config.vocab_size=100"}), {"100"});
}

TEST_CASE("a run whose epochs are done ends early, says so, and is complete",
          "[integration]") {
  const TinyRun run;
  put_file(run.folder() / "short.txt", std::string(500, 'x'));
  const Settings settings = {"data.files=[\"${recipe_dir}/short.txt\"]",
                             "data.epochs=1",
                             "data.lanes=2",
                             "training.steps=100000"};
  const Finished result = run.train(settings);
  INFO(result.err);
  CHECK(result.exit_code == 0);
  CHECK(result.err.find("of 100000: its epochs are done") != std::string::npos);
  REQUIRE_FALSE(steps_in(run.checkpoints()).empty());
  const Finished again = run.train(settings);
  CHECK(again.exit_code == 0);
  CHECK(again.out == result.out);
  Settings strict = settings;
  strict.emplace_back("data.on_exhausted=error");
  const TinyRun other;
  put_file(other.folder() / "short.txt", std::string(500, 'x'));
  const Finished refused = other.train(strict);
  INFO(refused.err);
  CHECK(refused.exit_code == 2);
  CHECK(refused.err.find("[data.on_exhausted]") != std::string::npos);
  CHECK(refused.err.find("used up") != std::string::npos);
}

TEST_CASE("options that are misspelt, or that exclude each other, exit 2",
          "[integration]") {
  const TinyRun run;
  check_refused(run, run.train({}, {"--resum"}), {"--resum"});
  check_refused(run,
                run.train({}, {"--from", "a", "--resume", "b"}),
                {"--from", "--resume"});
  check_refused(run, run_titan_process({"trian"}), {"trian", "train"});
}
