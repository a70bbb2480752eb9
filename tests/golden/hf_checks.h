// SPDX-License-Identifier: BSD-3-Clause
// What a model family must pass against Hugging Face's implementation: numbers,
// weights and config.json there and back.
#pragma once

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/train/parity.h"
#include "tests/golden/hf_case.h"

namespace titan::golden {

/// Every error of `titan parity` within `options`.
inline train::ParityReport check_parity(const std::string& name,
                                        const train::ParityOptions& options) {
  const train::ParityReport report =
      train::run_parity(plugins(), case_folder(name), options);
  CHECK(report.errors.size() > 20);
  for (const train::TensorError& error : report.errors) {
    INFO(name << ": " << error.name << ' ' << error.problem << " relative "
              << error.relative_norm);
    CHECK(error.passes());
  }
  return report;
}

/// Weights go to Titan and back bit for bit.
inline void check_weights_there_and_back(const std::string& name) {
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

/// config.json goes to Titan and back: the values of a decoder, those of
/// `more_keys` and all of rope_parameters are kept.
inline void check_config_there_and_back(
    const std::string& name,
    const std::vector<std::string>& more_keys) {
  INFO(name);
  std::vector<std::string> keys = {"model_type",
                                   "hidden_size",
                                   "num_hidden_layers",
                                   "vocab_size",
                                   "num_attention_heads",
                                   "num_key_value_heads",
                                   "head_dim",
                                   "intermediate_size",
                                   "rms_norm_eps",
                                   "tie_word_embeddings",
                                   "attention_bias",
                                   "max_position_embeddings"};
  keys.insert(keys.end(), more_keys.begin(), more_keys.end());
  const HfCase loaded(name, "fp32");
  const auto original = config::Value::from_json(
      read_text(loaded.folder() / "config.json"), "config.json");
  const auto back =
      config::Value::from_json(loaded.model->config_to_hf(), "exported");
  for (const std::string& key : keys) {
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
