// SPDX-License-Identifier: BSD-3-Clause
// A DeepSeek-V3 whose matrices are fp8 in blocks of 128 x 128, as the
// released checkpoints are: made here, loaded, and equal to the numbers that
// the blocks stand for.
#include <map>
#include <string>

#include <ATen/ATen.h>
#include <catch2/catch.hpp>

#include "core/checkpoint/export.h"
#include "tests/golden/hf_case.h"

namespace titan::golden {
namespace {

// Edge blocks are partial in both dimensions.
constexpr const char* kFp8Config = R"({
  "model_type": "deepseek_v3", "hidden_size": 160, "num_hidden_layers": 2,
  "num_attention_heads": 4, "intermediate_size": 200, "vocab_size": 64,
  "first_k_dense_replace": 1, "q_lora_rank": 136, "kv_lora_rank": 40,
  "qk_nope_head_dim": 24, "qk_rope_head_dim": 8, "v_head_dim": 20,
  "n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 2,
  "topk_group": 1, "moe_intermediate_size": 130, "num_nextn_predict_layers": 1,
  "quantization_config": {"quant_method": "fp8", "fmt": "e4m3",
                          "weight_block_size": [128, 128]}})";

constexpr int64_t kFp8Block = 128;
constexpr double kLargestE4M3 = 448;

struct Quantised {
  at::Tensor codes;   // fp8
  at::Tensor scales;  // [rows / 128, columns / 128], to multiply with
  at::Tensor value;   // what they stand for
};

Quantised quantised(const at::Tensor& weight) {
  Quantised out;
  const int64_t rows = (weight.size(0) + kFp8Block - 1) / kFp8Block;
  const int64_t columns = (weight.size(1) + kFp8Block - 1) / kFp8Block;
  out.codes = at::empty(weight.sizes(), at::kFloat8_e4m3fn);
  out.scales = at::empty({rows, columns}, at::kFloat);
  out.value = at::empty_like(weight);
  const auto block = [](const at::Tensor& of, int64_t row, int64_t column) {
    return of.slice(0, row * kFp8Block, (row + 1) * kFp8Block)
        .slice(1, column * kFp8Block, (column + 1) * kFp8Block);
  };
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      const at::Tensor part = block(weight, row, column);
      const at::Tensor scale = part.abs().max() / kLargestE4M3;
      const at::Tensor codes = (part / scale).to(at::kFloat8_e4m3fn);
      out.scales[row][column] = scale;
      block(out.codes, row, column).copy_(codes);
      block(out.value, row, column).copy_(codes.to(at::kFloat) * scale);
    }
  return out;
}

// In released checkpoints all matrices but the embedding, the head and the
// router's gate are fp8.
bool is_fp8(const std::string& name, const at::Tensor& tensor) {
  return tensor.dim() == 2 && name.find("_proj") != std::string::npos;
}

std::filesystem::path fresh_folder(const std::string& name) {
  const auto path = std::filesystem::temp_directory_path() / name;
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path;
}

}  // namespace

TEST_CASE("deepseek's fp8 folder loads as the numbers it stands for") {
  const auto root = fresh_folder("titan_fp8_test");
  std::filesystem::create_directories(root / "start");
  std::ofstream(root / "start/config.json") << kFp8Config;
  const HfCase start((root / "start").string(), "fp32");
  start.engine->initialise(7);
  std::map<std::string, at::Tensor> expected =
      train::hf_tensors(*start.model, *start.engine);

  checkpoint::HfFolder content;
  content.config_json = kFp8Config;
  size_t num_fp8 = 0;
  for (auto& [name, tensor] : expected) {
    if (!is_fp8(name, tensor)) {
      content.tensors.push_back(train::source_of(name, tensor));
      continue;
    }
    ++num_fp8;
    const Quantised made = quantised(tensor);
    tensor = made.value;
    content.tensors.push_back(train::source_of(name, made.codes));
    content.tensors.push_back(
        train::source_of(name + "_scale_inv", made.scales));
  }
  // The block behind the last is for multi-token prediction: not of this model.
  content.tensors.push_back(
      train::source_of("model.layers.2.enorm.weight", at::ones({160})));
  CHECK(num_fp8 == 2 * 5 + 3 + 3 * 4 + 3);
  checkpoint::write_hf_folder(
      checkpoint::real_file_system(), root / "fp8", content);

  HfCase loaded((root / "fp8").string(), "fp32");
  loaded.load();
  const auto weights = train::hf_tensors(*loaded.model, *loaded.engine);
  REQUIRE(weights.size() == expected.size());
  for (const auto& [name, tensor] : expected) {
    INFO(name);
    CHECK(at::equal(weights.at(name), tensor));
  }
  std::filesystem::remove_all(root);
}

}  // namespace titan::golden
