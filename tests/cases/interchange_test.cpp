// SPDX-License-Identifier: BSD-3-Clause
// Weights in Hugging Face's form: which tensor is which, tied ones, what an
// exported folder holds.
#include <set>

#include <ATen/core/grad_mode.h>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/checkpoint/export.h"
#include "core/checkpoint/safetensors_folder.h"
#include "tests/cases/small_run.h"
#include "tests/golden/hf_case.h"
#include "tests/unit/core/cli/captured_run.h"

namespace titan::cases {
namespace {

using Catch::Contains;
using Tensors = std::map<std::string, at::Tensor>;
namespace fs = std::filesystem;

void check_runs(const std::vector<std::string>& words) {
  const cli::CapturedRun run = cli::run_captured(words);
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
}

// A golden case's folder with other weights and a config edited.
std::string write_case(
    const fs::path& path,
    const char* golden,
    const Tensors& tensors,
    const nlohmann::json& config_edits = nlohmann::json::object(),
    checkpoint::Metadata metadata = {{"format", "pt"}}) {
  fs::create_directories(path);
  const fs::path from = golden::case_folder(golden);
  auto config = nlohmann::json::parse(golden::read_text(from / "config.json"));
  config.update(config_edits);
  std::ofstream(path / "config.json") << config;
  fs::copy_file(from / "inputs.safetensors", path / "inputs.safetensors");
  std::vector<checkpoint::TensorSource> sources;
  for (const auto& [name, tensor] : tensors)
    sources.push_back(train::source_of(name, tensor));
  checkpoint::write_safetensors(checkpoint::real_file_system(),
                                path / "model.safetensors",
                                sources,
                                metadata);
  return path.string();
}

Tensors weights_of(const char* golden) {
  return golden::read_tensors(golden::case_folder(golden) /
                              "model.safetensors");
}

// Hugging Face's name of one of ours, written down independently of the
// plugin's rules.
std::string hf_name(const std::string& native) {
  static const std::map<std::string, std::string> top = {
      {"tok_embeddings", "model.embed_tokens"},
      {"norm", "model.norm"},
      {"lm_head", "lm_head"}};
  static const std::map<std::string, std::string> in_layer = {
      {"attention_norm", "input_layernorm"},
      {"ffn_norm", "post_attention_layernorm"},
      {"attention.qkv_linear.wq", "self_attn.q_proj"},
      {"attention.qkv_linear.wk", "self_attn.k_proj"},
      {"attention.qkv_linear.wv", "self_attn.v_proj"},
      {"attention.wo", "self_attn.o_proj"},
      {"feed_forward.w1", "mlp.gate_proj"},
      {"feed_forward.w2", "mlp.down_proj"},
      {"feed_forward.w3", "mlp.up_proj"}};
  const size_t last = native.rfind('.');
  const std::string kind = native.substr(last);  // ".weight", ".bias"
  if (!native.starts_with("layers."))
    return top.at(native.substr(0, last)) + kind;
  const size_t number_end = native.find('.', 7);
  return "model." + native.substr(0, number_end + 1) +
         in_layer.at(native.substr(number_end + 1, last - number_end - 1)) +
         kind;
}

}  // namespace

// Case CKP-12. llama_test.cpp holds the logits against Hugging Face's.
TEST_CASE("a constant in each tensor of Llama arrives under the right name",
          "[integration]") {
  const ScratchFolder folder;
  for (const char* golden : {"llama3", "llama3_bias", "llama3_wide_heads"}) {
    CAPTURE(golden);
    Tensors constants;
    double constant = 0;
    for (const auto& [name, tensor] : weights_of(golden))
      constants[name] = at::full_like(tensor, ++constant);
    const fs::path home = folder.path() / golden;
    const std::string hf = write_case(home / "hf", golden, constants);
    const std::string native = (home / "native").string();
    const std::string back = (home / "back").string();
    check_runs({"convert", hf, native, "--to", "titan-weights"});
    check_runs({"convert", native, back, "--to", "hf"});

    const Tensors ours =
        golden::read_tensors(fs::path(native) / "model.safetensors");
    CHECK(ours.size() == constants.size());
    std::set<double> seen;
    for (const auto& [name, tensor] : ours) {
      CAPTURE(name);
      const at::Tensor& theirs = constants.at(hf_name(name));
      CHECK(tensor.sizes() == theirs.sizes());
      CHECK(at::equal(tensor, theirs));
      seen.insert(tensor.max().item<double>());
    }
    CHECK(seen.size() == constants.size());
    const Tensors again =
        golden::read_tensors(fs::path(back) / "model.safetensors");
    CHECK(again.size() == constants.size());
    for (const auto& [name, tensor] : constants)
      CHECK(at::equal(again.at(name), tensor));
  }
}

// Case CKP-13. What transformers makes of it: tests/golden/transformers.
TEST_CASE("an exported file says its format, is padded and has no hole",
          "[integration]") {
  const ScratchFolder folder;
  const std::string hf = (folder.path() / "hf").string();
  check_runs({"convert",
              golden::case_folder("llama3_bias").string(),
              hf,
              "--to",
              "hf",
              "--shard-size",
              "20KB"});
  int num_files = 0;
  for (const auto& entry : fs::directory_iterator(hf)) {
    if (entry.path().extension() != ".safetensors") continue;
    ++num_files;
    CAPTURE(entry.path().filename().string());
    const std::string bytes = golden::read_text(entry.path());
    uint64_t length = 0;
    std::memcpy(&length, bytes.data(), 8);
    CHECK((8 + length) % 8 == 0);
    const std::string header = bytes.substr(8, length);
    const size_t end = header.find_last_not_of(' ');
    CHECK(header[end] == '}');
    CHECK(header.size() - end <= 8);
    const auto json = nlohmann::ordered_json::parse(header);
    CHECK(json.at("__metadata__").dump() == R"({"format":"pt"})");
    int64_t offset = 0;  // sorted, and contiguous from 0
    for (const auto& [name, tensor] : json.items()) {
      if (name == "__metadata__") continue;
      CHECK(tensor.at("data_offsets")[0] == offset);
      offset = tensor.at("data_offsets")[1].get<int64_t>();
    }
    CHECK(static_cast<size_t>(offset) == bytes.size() - 8 - length);
  }
  CHECK(num_files > 2);
}

// Case CKP-14.
TEST_CASE("a tied head is the embedding, and a missing one an error",
          "[integration]") {
  const ScratchFolder folder;
  Tensors tied = weights_of("llama3_bias");
  const at::Tensor embedding = tied.at("model.embed_tokens.weight");
  tied.erase("lm_head.weight");
  Tensors untied = tied;
  untied["lm_head.weight"] = embedding;
  const auto write = [&](const char* name,
                         const Tensors& tensors,
                         bool is_tied,
                         checkpoint::Metadata metadata = {{"format", "pt"}}) {
    return write_case(folder.path() / name,
                      "llama3_bias",
                      tensors,
                      {{"tie_word_embeddings", is_tied}},
                      std::move(metadata));
  };
  const auto logits = [](const std::string& path) {
    golden::HfCase opened(path, "fp32");
    opened.load();
    return opened.logits();
  };
  const at::Tensor expected = logits(write("untied", untied, false));
  CHECK(at::equal(logits(write("tied", tied, true)), expected));
  // Some tied checkpoints store the head a second time: the embedding counts.
  Tensors twice = tied;
  twice["lm_head.weight"] = at::zeros_like(embedding);
  CHECK(at::equal(logits(write("twice", twice, true)), expected));

  CHECK_THROWS_WITH(logits(write("headless", tied, false)),
                    Contains("missing: 1\n    lm_head.weight"));
  const std::string headless = (folder.path() / "headless").string();
  const cli::CapturedRun converted =
      cli::run_captured({"convert",
                         headless,
                         (folder.path() / "out").string(),
                         "--to",
                         "titan-weights"});
  CHECK(converted.exit_code == 2);
  CHECK_THAT(converted.err, Contains("missing: 1\n    lm_head.weight"));

  // safetensors names what it left out because it was shared.
  CHECK(at::equal(
      logits(write(
          "alias",
          tied,
          false,
          {{"format", "pt"}, {"lm_head.weight", "model.embed_tokens.weight"}})),
      expected));
  // An alias of names that the model does not have changes nothing.
  CHECK(at::equal(logits(write("foreign_alias",
                               untied,
                               false,
                               {{"format", "pt"},
                                {"model.shared.weight",
                                 "model.decoder.embed_tokens.weight"}})),
                  expected));
}

// Case CKP-08, for a folder of Hugging Face's form.
TEST_CASE("a folder of other names lists all that does not fit",
          "[integration]") {
  const ScratchFolder folder;
  const Tensors weights = weights_of("llama3_bias");
  const auto load = [&](const char* name, const Tensors& tensors) {
    golden::HfCase opened(
        write_case(folder.path() / name, "llama3_bias", tensors), "fp32");
    opened.load();
  };
  for (const char* prefix : {"model.", "module.", "_orig_mod."}) {
    Tensors renamed;
    for (const auto& [name, tensor] : weights) renamed[prefix + name] = tensor;
    CHECK_THROWS_WITH(
        load(prefix, renamed),
        Contains(text("missing: ", weights.size())) &&
            Contains(text("unexpected: ", weights.size(), "\n    ", prefix)));
  }
  Tensors wrong = weights;
  wrong.erase("model.norm.weight");
  wrong["extra"] = at::ones({2});
  wrong["lm_head.weight"] = at::zeros({3, 5});
  wrong["model.layers.0.mlp.up_proj.weight"] =
      wrong.at("model.layers.0.mlp.up_proj.weight").to(at::kChar);
  CHECK_THROWS_WITH(
      load("wrong", wrong),
      Contains("missing: 1\n    model.norm.weight") &&
          Contains("of another shape: 1\n    lm_head.weight shape: expected") &&
          Contains("got (3, 5)") &&
          Contains("of another type: 1\n    model.layers.0.mlp.up_proj.weight "
                   "type: expected floating point, got I8") &&
          Contains("unexpected: 1\n    extra"));

  golden::HfCase lenient(
      write_case(folder.path() / "some", "llama3_bias", wrong), "fp32");
  const at::NoGradGuard no_grad;
  const auto value_of = [&](const std::string& fqn) {
    for (const parallel::LocalPart& part : lenient.engine->parts())
      if (part.parameter->fqn == fqn) return lenient.engine->master(part);
    return at::Tensor();
  };
  for (const parallel::LocalPart& part : lenient.engine->parts())
    lenient.engine->master(part).fill_(7);
  lenient.load(false);
  CHECK(value_of("norm.weight").eq(7).all().item<bool>());
  CHECK(value_of("lm_head.weight").eq(7).all().item<bool>());
  CHECK(value_of("layers.0.feed_forward.w3.weight").eq(7).all().item<bool>());
  CHECK(at::equal(value_of("layers.0.feed_forward.w1.weight"),
                  weights.at("model.layers.0.mlp.gate_proj.weight")));
}

// Case CKP-21.
TEST_CASE("an export in bf16 is all that another program needs",
          "[integration]") {
  const ScratchFolder folder;
  const std::string tokenizer = TITAN_SOURCE_DIR "/assets/tokenizer";
  folder.write("documents.jsonl", make_documents(40));
  const std::string recipe = folder.write("small.yaml",
                                          text(R"(
run_folder: "${recipe_dir}/run"
model:
  use: titan.llama3
  config: {dim: 32, num_layers: 2, num_heads: 4, num_kv_heads: 2,
           hidden_dim: 48, vocab_size: 2048, max_position: 64,
           tie_embeddings: true, rope: {theta: 5e5}}
data: {use: jsonl, files: ["${recipe_dir}/documents.jsonl"],
       tokenizer: )",
                                               tokenizer,
                                               R"(}
training: {steps: 2, seq_len: 16, tokens_per_microbatch: 64, threads: 1}
optimizer: {use: titan.adamw, config: {lr: 1e-3}}
checkpoint: {enabled: true, interval: 2, export_hf: true, dtype: bf16}
)"));
  check_runs({"train", recipe});
  const fs::path run = folder.path() / "run";
  const std::string converted = (folder.path() / "converted").string();
  check_runs({"convert",
              (run / "checkpoint").string(),
              converted,
              "--to",
              "hf",
              "--dtype",
              "bf16"});
  for (const fs::path& hf : {run / "hf", fs::path(converted)}) {
    CAPTURE(hf.filename().string());
    const auto config =
        nlohmann::json::parse(golden::read_text(hf / "config.json"));
    CHECK(config.at("torch_dtype") == "bfloat16");
    CHECK(config.at("architectures")[0] == "LlamaForCausalLM");
    CHECK(config.at("rope_theta") == 5e5);
    CHECK(config.at("tie_word_embeddings") == true);
    CHECK(config.at("vocab_size") == 2048);
    const auto generation =
        nlohmann::json::parse(golden::read_text(hf / "generation_config.json"));
    for (const char* key : {"bos_token_id", "eos_token_id"}) {
      CHECK(generation.at(key).is_number());
      CHECK(config.at(key) == generation.at(key));
    }
    for (const char* name : {"tokenizer.json", "tokenizer_config.json"})
      CHECK(golden::read_text(hf / name) ==
            golden::read_text(fs::path(tokenizer) / name));
    const checkpoint::SafetensorsFolder weights(hf);
    CHECK(weights.find("lm_head.weight") == nullptr);  // tied
    int64_t num_elements = 0;
    for (const checkpoint::TensorView* view : weights.tensors()) {
      CHECK(view->dtype == checkpoint::Dtype::kBf16);
      num_elements += static_cast<int64_t>(view->bytes.size()) / 2;
    }
    // Two bytes an element, and a header.
    CHECK(fs::file_size(hf / "model.safetensors") <
          static_cast<size_t>(2 * num_elements) + 4096);
  }
  CHECK(golden::read_text(run / "hf" / "config.json") ==
        golden::read_text(fs::path(converted) / "config.json"));
}

}  // namespace titan::cases
