// SPDX-License-Identifier: BSD-3-Clause
// Fine-tuning with adapters as a user does it: a base model, `titan train` with
// a LoRA, the adapter's folder, the merged export, generation, a second start.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/checkpoint/safetensors_folder.h"
#include "tests/integration/tiny_run.h"

using namespace titan::integration;

namespace fs = std::filesystem;

namespace {

// A base model, and the settings of a LoRA on it in a run folder of its own.
struct LoraRun {
  LoraRun() {
    const Finished base = run.train(exporting());
    INFO(base.err);
    REQUIRE(base.exit_code == 0);
    settings = exporting();
    settings.insert(settings.end(),
                    {"run_folder=" + folder().string(),
                     "checkpoint.initial=" + (run.run() / "hf").string(),
                     "adapter={use: titan.lora, config: {rank: 4, targets: "
                     "['**.wq', '**.wv', '**.w2']}}",
                     "optimizer.config.lr=1e-2"});
  }
  fs::path folder() const { return run.folder() / "tuned"; }

  TinyRun run;
  Settings settings;
};

}  // namespace

TEST_CASE("a LoRA run leaves PEFT's folder and a merged model that agree",
          "[integration]") {
  const LoraRun lora;
  const Finished tuned = lora.run.train(lora.settings);
  INFO(tuned.err);
  REQUIRE(tuned.exit_code == 0);
  // A and B of rank 4 beside wq, wv and w2 of two layers.
  const int trained = 2 * 4 * ((32 + 32) + (32 + 16) + (64 + 32));
  CHECK(tuned.err.find("trains " + std::to_string(trained) + " of ") !=
        std::string::npos);

  const fs::path adapter = lora.folder() / "adapter";
  const auto config =
      nlohmann::json::parse(get_file(adapter / "adapter_config.json"));
  CHECK(config.at("peft_type") == "LORA");
  CHECK(config.at("r") == 4);
  CHECK(config.at("lora_alpha") == 16);
  CHECK(config.at("target_modules") ==
        nlohmann::json({"down_proj", "q_proj", "v_proj"}));
  const titan::checkpoint::SafetensorsFile file(adapter /
                                                "adapter_model.safetensors");
  CHECK(file.tensors().size() == 2 * 3 * 2);
  CHECK(file.get("base_model.model.model.layers.1.self_attn.q_proj.lora_B."
                 "weight")
            .shape == std::vector<std::int64_t>{32, 4});
  CHECK(file.get("base_model.model.model.layers.0.mlp.down_proj.lora_A.weight")
            .shape == std::vector<std::int64_t>{4, 64});
  // The merged export has the base's tensors and no others.
  const titan::checkpoint::SafetensorsFolder merged(lora.folder() / "hf");
  CHECK(merged.tensors().size() == 3 + 2 * 9);

  const auto validate = [&](Settings settings, const std::string& name) {
    settings.insert(settings.end(),
                    {"run_folder=" + (lora.run.folder() / name).string(),
                     "training.steps=1",
                     "schedule.warmup_steps=0",
                     "optimizer.config.lr=0"});
    const Finished again = lora.run.train(settings);
    INFO(again.err);
    REQUIRE(again.exit_code == 0);
    return validation_loss(again);
  };
  Settings from_merged = exporting();
  from_merged.push_back("checkpoint.initial=" +
                        (lora.folder() / "hf").string());
  const std::string loss = validation_loss(tuned);
  CHECK(loss.size() > 10);
  CHECK(validate(from_merged, "merged") == loss);
  Settings from_adapter = lora.settings;
  from_adapter.push_back("adapter.initial=" + adapter.string());
  CHECK(validate(from_adapter, "again") == loss);
  // Written again it is the same.
  CHECK(
      get_file(lora.run.folder() / "again/adapter/adapter_model.safetensors") ==
      get_file(adapter / "adapter_model.safetensors"));
}

TEST_CASE("a LoRA run resumes bit-identically and generates", "[integration]") {
  const LoraRun lora;
  const Finished whole = lora.run.train(lora.settings);
  INFO(whole.err);
  REQUIRE(whole.exit_code == 0);
  const fs::path last = lora.folder() / "checkpoint/step_00000012";
  const auto files = state_files(last);
  fs::remove_all(last);
  fs::remove_all(lora.folder() / "checkpoint/step_00000008");
  fs::remove(lora.folder() / "result.json");
  const Finished rest = lora.run.train(lora.settings);
  INFO(rest.err);
  REQUIRE(rest.exit_code == 0);
  CHECK(rest.err.find("resumed from") != std::string::npos);
  CHECK(state_files(last) == files);
  // A checkpoint knows its adapters: generation needs no more than it.
  const auto generate = [](const fs::path& from) {
    return run_titan_process({"generate",
                              from.string(),
                              "--prompt",
                              "Line",
                              "--max-tokens",
                              "8",
                              "--temperature",
                              "0"});
  };
  const Finished adapted = generate(lora.folder());
  INFO(adapted.err);
  CHECK(adapted.exit_code == 0);
  CHECK(adapted.out == generate(lora.folder() / "hf").out);
}

TEST_CASE("titan convert merges the adapters of a checkpoint",
          "[integration]") {
  const LoraRun lora;
  REQUIRE(lora.run.train(lora.settings).exit_code == 0);
  const fs::path out = lora.run.folder() / "converted";
  const Finished converted =
      run_titan_process({"convert",
                         (lora.folder() / "checkpoint").string(),
                         out.string(),
                         "--to",
                         "hf"});
  INFO(converted.err);
  REQUIRE(converted.exit_code == 0);
  const titan::checkpoint::SafetensorsFolder exported(lora.folder() / "hf");
  const titan::checkpoint::SafetensorsFolder merged(out);
  REQUIRE(merged.tensors().size() == exported.tensors().size());
  for (const auto* tensor : exported.tensors()) {
    INFO(tensor->name);
    const auto& other = merged.get(tensor->name);
    CHECK(std::equal(tensor->bytes.begin(),
                     tensor->bytes.end(),
                     other.bytes.begin(),
                     other.bytes.end()));
  }
}

TEST_CASE("two pipeline stages say beforehand that they write no adapter",
          "[integration]") {
  const TinyRun run;
  const Finished refused = run.train({"adapter.use=titan.lora",
                                      "parallel.pp=2",
                                      "training.tokens_per_step=64"},
                                     {"--sim-ranks", "2"});
  CHECK(refused.exit_code == 2);
  CHECK(refused.err.find("[adapter.export]") != std::string::npos);
}
