// SPDX-License-Identifier: BSD-3-Clause
// The Hugging Face folder that a run leaves: complete, in their names, and the
// same model when it comes back.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/checkpoint/safetensors_folder.h"
#include "tests/integration/tiny_run.h"

using namespace titan::integration;

namespace fs = std::filesystem;

TEST_CASE(
    "a run leaves a Hugging Face folder with weights, configuration and "
    "tokenizer",
    "[integration]") {
  const TinyRun run;
  const Finished result = run.train(exporting());
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  const fs::path hf = run.run() / "hf";
  CHECK(get_file(hf / "tokenizer.json") ==
        get_file(fs::path(kTokenizer) / "tokenizer.json"));
  const auto config = nlohmann::json::parse(get_file(hf / "config.json"));
  CHECK(config.at("model_type") == "llama");
  CHECK(config.at("hidden_size") == 32);
  CHECK(config.at("num_hidden_layers") == 2);
  CHECK(config.at("num_attention_heads") == 4);
  CHECK(config.at("num_key_value_heads") == 2);
  CHECK(config.at("intermediate_size") == 64);
  CHECK(config.at("vocab_size") == 2048);
  const titan::checkpoint::SafetensorsFolder weights(hf);
  // Embedding, head, last norm, and nine of each layer.
  CHECK(weights.tensors().size() == 3 + 2 * 9);
  CHECK(weights.get("model.layers.1.self_attn.k_proj.weight").shape ==
        std::vector<std::int64_t>{16, 32});
}

TEST_CASE("an exported model that is read and exported again is the same",
          "[integration]") {
  const TinyRun run;
  const Finished first = run.train(exporting());
  INFO(first.err);
  REQUIRE(first.exit_code == 0);
  const std::string loss = validation_loss(first);
  REQUIRE_FALSE(loss.empty());
  Settings settings = exporting();
  settings.insert(settings.end(),
                  {"run_folder=" + (run.folder() / "again").string(),
                   "training.steps=1",
                   "schedule.warmup_steps=0",
                   "optimizer.config.lr=0"});
  const Finished second =
      run.train(settings, {"--from", (run.run() / "hf").string()});
  INFO(second.err);
  REQUIRE(second.exit_code == 0);
  CHECK(validation_loss(second) == loss);
  for (const char* file : {"model.safetensors", "config.json"})
    CHECK(get_file(run.folder() / "again" / "hf" / file) ==
          get_file(run.run() / "hf" / file));
}

TEST_CASE("an export of averaged weights is not that of the last ones",
          "[integration]") {
  const TinyRun run;
  Settings averaged = exporting();
  averaged.emplace_back("ema={decay: 0.9, validate: true}");
  REQUIRE(run.train(averaged).exit_code == 0);
  const std::string last = get_file(run.run() / "hf/model.safetensors");
  run.cut_after(12);
  averaged.emplace_back("ema.export=true");
  const Finished exported = run.train(averaged);
  INFO(exported.err);
  REQUIRE(exported.exit_code == 0);
  const std::string mean = get_file(run.run() / "hf/model.safetensors");
  CHECK(mean.size() == last.size());
  CHECK(mean != last);
  // What was exported is what was validated.
  const TinyRun again;
  const Finished loaded =
      again.train({"data.tokenizer=" + kTokenizer,
                   "model.config.vocab_size=2048",
                   "data.validation_fraction=0.1",
                   "validation.at_end=true",
                   "checkpoint.initial=" + (run.run() / "hf").string(),
                   "training.steps=1",
                   "schedule.warmup_steps=1",
                   "optimizer.config.lr=0",
                   "optimizer.config.weight_decay=0"});
  INFO(loaded.err);
  CHECK(validation_loss(loaded) == validation_loss(exported));
}
