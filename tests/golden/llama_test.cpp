// SPDX-License-Identifier: BSD-3-Clause
// Llama against Hugging Face's: numbers, and weights there and back.
#include <catch2/catch.hpp>

#include "core/train/parity.h"
#include "tests/golden/hf_case.h"

namespace titan::golden {
namespace {

// Measured: at most 2.0e-6 in any tensor of any case, five times under this;
// the reference's own float32 rounding is of that size.
constexpr double kLimit = 1e-5;

train::ParityReport check_parity(const std::string& name) {
  // Final weights are judged against the size of their whole update; measured
  // at most 6.0e-6.
  const train::ParityReport report =
      train::run_parity(plugins(), case_folder(name), {kLimit, 3e-5});
  CHECK(report.errors.size() > 20);
  for (const train::TensorError& error : report.errors) {
    INFO(name << ": " << error.name << ' ' << error.problem << " relative "
              << error.relative_norm);
    CHECK(error.passes());
  }
  return report;
}

}  // namespace

// Case CKP-12: a swap of two tensors of one shape shows in the logits.
TEST_CASE("llama equals Hugging Face in logits, loss and every gradient") {
  const std::string name = GENERATE(as<std::string>{},
                                    "llama3",
                                    "llama3_bias",
                                    "llama3_linear",
                                    "llama3_yarn",
                                    "llama3_yarn_scaled",
                                    "llama3_wide_heads");
  check_parity(name);
}

TEST_CASE("llama trains twenty AdamW steps as PyTorch does") {
  CHECK(check_parity("llama3").training_steps == 20);
}

// Case NUM-01: with biases and fewer key heads than query heads a wrong
// permutation of rows shows in logits only after some positions.
TEST_CASE("weights go from Hugging Face to Titan and back bit for bit") {
  const std::string name = GENERATE(as<std::string>{},
                                    "llama3_bias",
                                    "llama3_linear",
                                    "llama3_yarn",
                                    "llama3_wide_heads");
  INFO(name);
  HfCase loaded(name, "fp32");
  loaded.load();
  const auto original = read_tensors(loaded.folder() / "model.safetensors");
  const auto back = train::hf_tensors(*loaded.model, *loaded.engine);
  REQUIRE(back.size() == original.size());
  for (const auto& [key, tensor] : original) {
    INFO(key);
    REQUIRE(back.count(key) == 1);
    CHECK(at::equal(back.at(key), tensor));
  }
}

TEST_CASE("logits at 64 positions are within 1e-4 of Hugging Face's") {
  HfCase loaded("llama3_bias", "fp32");
  loaded.load();
  const auto expected = read_tensors(loaded.folder() / "expected.safetensors");
  const at::Tensor logits = loaded.logits();
  REQUIRE(logits.size(0) == 64);
  const at::Tensor& reference = expected.at("logits");
  const auto worst =
      (logits.view(reference.sizes()) - reference).abs().max().item<double>();
  CAPTURE(worst);
  CHECK(worst <= 1e-4);
}

TEST_CASE("config.json goes to Titan and back with every value kept") {
  const std::string name = GENERATE(as<std::string>{},
                                    "llama3_bias",
                                    "llama3_linear",
                                    "llama3_yarn",
                                    "llama3_yarn_scaled",
                                    "llama3_wide_heads");
  INFO(name);
  const HfCase loaded(name, "fp32");
  const auto original = config::Value::from_json(
      read_text(loaded.folder() / "config.json"), "config.json");
  const auto back =
      config::Value::from_json(loaded.model->config_to_hf(), "exported");
  for (const char* key : {"hidden_size",
                          "num_hidden_layers",
                          "vocab_size",
                          "num_attention_heads",
                          "num_key_value_heads",
                          "head_dim",
                          "intermediate_size",
                          "rms_norm_eps",
                          "tie_word_embeddings",
                          "attention_bias",
                          "mlp_bias",
                          "max_position_embeddings",
                          "model_type"}) {
    INFO(key);
    REQUIRE(original.find(key) != nullptr);
    REQUIRE(back.find(key) != nullptr);
    CHECK(back.find(key)->to_json() == original.find(key)->to_json());
  }
  const config::Value& rope = *original.find("rope_parameters");
  for (const auto& entry : rope.as_map()) {
    INFO("rope_parameters." << entry.key);
    const config::Value* written =
        back.find("rope_parameters")->find(entry.key);
    REQUIRE(written != nullptr);
    if (entry.value.is_number())
      CHECK(written->as_number() == entry.value.as_number());
    else
      CHECK(written->to_json() == entry.value.to_json());
  }
}

}  // namespace titan::golden
