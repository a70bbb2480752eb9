// SPDX-License-Identifier: BSD-3-Clause
// `titan convert` on a model whose key rules stack, split, transpose and
// permute (keys/keys.cpp): from Hugging Face to each of our forms and back, and
// from a trained checkpoint.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/checkpoint/checkpoint_reader.h"
#include "core/checkpoint/export.h"
#include "core/checkpoint/safetensors_folder.h"
#include "core/train/open_model.h"
#include "core/train/tensor_bytes.h"
#include "tests/cases/small_run.h"
#include "tests/unit/core/cli/captured_run.h"

namespace titan::cases {
namespace {

using Catch::Contains;
using Tensors = std::map<std::string, at::Tensor>;
namespace fs = std::filesystem;

constexpr int64_t kDim = 8, kHidden = 12, kExperts = 3, kLayers = 2;

cli::CapturedRun convert(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "convert");
  arguments.insert(arguments.end(), {"--plugin", TITAN_KEYS_MODEL});
  return cli::run_captured(arguments);
}

void check_converts(const std::vector<std::string>& arguments) {
  const cli::CapturedRun run = convert(arguments);
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
}

// Every element of every tensor is another number.
Tensors hf_weights() {
  Tensors tensors;
  double first = 0;
  const auto add = [&](const std::string& name, std::vector<int64_t> shape) {
    const at::Tensor counted =
        at::arange(at::empty(shape).numel(), at::kDouble).view(shape) + first;
    first += static_cast<double>(counted.numel());
    tensors[name] = counted.to(at::kFloat);
  };
  add("model.embed.weight", {256, kDim});
  add("model.norm.weight", {kDim});
  add("head.weight", {256, kDim});
  for (int64_t layer = 0; layer < kLayers; ++layer) {
    const std::string h = text("model.h.", layer, '.');
    add(h + "q_proj.weight", {kDim, kDim});
    add(h + "gate_up.weight", {2 * kHidden, kDim});
    add(h + "c_proj.weight", {kHidden, kDim});
    add(h + "gate.bias", {kExperts});
    tensors[h + "gate.bias"] *= 1.001F;  // more digits than bf16 has
    for (int64_t expert = 0; expert < kExperts; ++expert)
      add(text(h, "experts.", expert, ".weight"), {kDim, kDim});
  }
  return tensors;
}

// A Hugging Face folder. Shards of 4 KB unless `tensors` fit into one.
std::string write_hf(const fs::path& path, const Tensors& tensors) {
  checkpoint::HfFolder content;
  content.config_json =
      R"({"model_type": "test_keys", "hidden_size": 8, "num_hidden_layers": 2})";
  content.max_shard_bytes = 4096;
  for (const auto& [name, tensor] : tensors)
    content.tensors.push_back(train::source_of(name, tensor));
  checkpoint::write_hf_folder(checkpoint::real_file_system(), path, content);
  return path.string();
}

Tensors read_folder(const fs::path& path) {
  const checkpoint::SafetensorsFolder folder(path);
  Tensors tensors;
  for (const checkpoint::TensorView* view : folder.tensors())
    tensors[view->name] = train::tensor_of(*view);
  return tensors;
}

Tensors read_checkpoint(const fs::path& path) {
  const checkpoint::CheckpointReader reader(path);
  Tensors tensors;
  for (const checkpoint::TensorRecord& record : reader.manifest().tensors) {
    const bool is_bias = record.name.ends_with(".bias");
    if (record.role != (is_bias ? "buffer" : "model")) continue;
    at::Tensor value =
        at::empty(record.shape, train::tensor_dtype(record.dtype));
    reader.read(record.role,
                record.name,
                layout::whole_region(record.shape),
                {static_cast<std::byte*>(value.data_ptr()), value.nbytes()});
    tensors[record.name] = value;
  }
  return tensors;
}

void check_equal(const Tensors& got, const Tensors& expected) {
  REQUIRE(got.size() == expected.size());
  for (const auto& [name, tensor] : expected) {
    CAPTURE(name);
    REQUIRE(got.count(name) == 1);
    CHECK(at::equal(got.at(name), tensor));
  }
}

// What the rules mean, said once more in words of their own.
void check_native(const Tensors& native, const Tensors& hf) {
  CHECK(native.size() == 3 + 6 * kLayers);
  CHECK(at::equal(native.at("embed.weight"), hf.at("model.embed.weight")));
  CHECK(at::equal(native.at("head.weight"), hf.at("head.weight")));
  const std::string ours = "layers.1.", theirs = "model.h.1.";
  const at::Tensor& both = hf.at(theirs + "gate_up.weight");
  CHECK(at::equal(native.at(ours + "gate.weight"), both.slice(0, 0, kHidden)));
  CHECK(at::equal(native.at(ours + "up.weight"), both.slice(0, kHidden)));
  CHECK(at::equal(native.at(ours + "down.weight"),
                  hf.at(theirs + "c_proj.weight").t()));
  CHECK(at::equal(native.at(ours + "bias"), hf.at(theirs + "gate.bias")));
  for (int64_t expert = 0; expert < kExperts; ++expert)
    CHECK(at::equal(native.at(ours + "experts")[expert],
                    hf.at(text(theirs, "experts.", expert, ".weight"))));
  // Pairs (2i, 2i + 1) of a head of four here are (i, i + 2) there.
  CHECK(at::equal(
      native.at(ours + "q.weight"),
      hf.at(theirs + "q_proj.weight")
          .index_select(0, at::tensor({0, 2, 1, 3, 4, 6, 5, 7}, at::kLong))));
}

}  // namespace

TEST_CASE("every key rule goes through convert there and back",
          "[integration]") {
  const ScratchFolder folder;
  const auto path = [&](const char* name) {
    return (folder.path() / name).string();
  };
  const Tensors weights = hf_weights();
  const std::string hf = write_hf(path("hf"), weights);
  REQUIRE(fs::exists(hf + "/model.safetensors.index.json"));

  check_converts({hf, path("native"), "--to", "titan-weights"});
  check_native(read_folder(path("native")), weights);
  check_converts({path("native"), path("back"), "--to", "hf"});
  check_equal(read_folder(path("back")), weights);

  check_converts({hf, path("saved"), "--to", "titan"});
  check_native(read_checkpoint(folder.path() / "saved" / "step_00000000"),
               weights);
  check_converts({path("saved"), path("from_saved"), "--to", "hf"});
  check_equal(read_folder(path("from_saved")), weights);

  // As bf16 from one of our forms to the other; buffers keep their type.
  check_converts(
      {path("saved"), path("b"), "--to", "titan-weights", "--dtype", "bf16"});
  check_converts({path("b"), path("b_hf"), "--to", "hf"});
  Tensors rounded = weights;
  for (auto& [name, tensor] : rounded)
    if (!name.ends_with("gate.bias")) tensor = tensor.to(at::kBFloat16);
  check_equal(read_folder(path("b_hf")), rounded);
}

TEST_CASE("what convert writes opens as the same model", "[integration]") {
  const ScratchFolder folder;
  const std::string hf = write_hf(folder.path() / "hf", hf_weights());
  for (const char* form : {"titan-weights", "titan"}) {
    const std::string out = (folder.path() / form).string();
    check_converts({hf, out, "--to", form});
    train::OpenOptions options;
    options.tokenizer = "bytes";
    options.search.files = {TITAN_KEYS_MODEL};
    const auto expected = train::open_model(hf, options);
    const auto opened = train::open_model(out, options);
    CHECK(opened->model->id() == "test.keys");
    for (size_t i = 0; i < expected->engine->parts().size(); ++i) {
      const parallel::LocalPart& part = expected->engine->parts()[i];
      CAPTURE(form, part.parameter->fqn);
      CHECK(at::equal(opened->engine->master(opened->engine->parts()[i]),
                      expected->engine->master(part)));
    }
    const at::Tensor bias = hf_weights().at("model.h.1.gate.bias");
    for (const auto& model : {expected.get(), opened.get()})
      for (const auto& entry : model->engine->buffers().entries())
        if (entry.buffer->fqn == "layers.1.bias")
          CHECK(at::equal(entry.value, bias));
  }
}

TEST_CASE("a trained checkpoint becomes Hugging Face's form and comes back",
          "[integration]") {
  const ScratchFolder folder;
  const std::string plugin = "plugins.load=[{path: " TITAN_KEYS_MODEL "}]";
  folder.write("documents.jsonl", make_documents(40));
  const std::string recipe = folder.write("keys.yaml", R"(
run_folder: "${recipe_dir}/run"
model: {use: test.keys}
data: {use: jsonl, files: ["${recipe_dir}/documents.jsonl"]}
training: {steps: 2, seq_len: 16, tokens_per_microbatch: 64, threads: 1}
optimizer: {use: titan.adamw, config: {lr: 1e-2}}
checkpoint: {enabled: true, interval: 2, export_hf: true}
)");
  const auto train = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"train", recipe, "--set", plugin};
    words.insert(words.end(), more.begin(), more.end());
    const cli::CapturedRun run = cli::run_captured(words);
    INFO(run.err);
    REQUIRE(run.exit_code == 0);
  };
  const fs::path run = folder.path() / "run";
  const auto path = [&](const char* name) {
    return (folder.path() / name).string();
  };
  train({});
  check_converts({(run / "checkpoint").string(), path("hf"), "--to", "hf"});
  check_equal(read_folder(path("hf")), read_folder(run / "hf"));
  const Tensors trained = read_checkpoint(run / "checkpoint/step_00000002");
  check_converts({path("hf"), path("native"), "--to", "titan-weights"});
  check_equal(read_folder(path("native")), trained);
  check_converts({path("hf"), path("saved"), "--to", "titan"});

  // Each form starts a run with the same bits.
  for (const char* form : {"hf", "native", "saved"}) {
    CAPTURE(form);
    train({"--from",
           path(form),
           "--set",
           "training.steps=1",
           "--set",
           "optimizer.config.lr=0",
           "--set",
           text("run_folder=", path("from_"), form)});
    check_equal(
        read_checkpoint(text(path("from_"), form, "/checkpoint/step_00000001")),
        trained);
  }
}

// Strict in both directions: everything at once, and nothing is written.
TEST_CASE("convert lists what is missing, unexpected and of another shape",
          "[integration]") {
  const ScratchFolder folder;
  const std::string out = (folder.path() / "out").string();
  Tensors weights = hf_weights();
  weights.erase("model.h.0.experts.1.weight");
  weights.erase("model.h.1.gate_up.weight");
  weights["model.h.0.c_proj.weight"] = at::zeros({kDim, kHidden});
  weights["model.h.0.inv_freq"] = at::zeros({4});  // known, and dropped
  weights["model.h.2.q_proj.weight"] = at::zeros({kDim, kDim});
  weights["norm.weight"] = at::zeros({kDim});
  const std::string hf = write_hf(folder.path() / "hf", weights);
  for (const char* form : {"titan-weights", "titan"}) {
    const cli::CapturedRun there = convert({hf, out, "--to", form});
    CHECK(there.exit_code == 2);
    CHECK_THAT(there.err,
               Contains("missing: 2\n    model.h.0.experts.1.weight\n    "
                        "model.h.1.gate_up.weight") &&
                   Contains("of another shape: 1\n    model.h.0.c_proj.weight "
                            "shape: expected (12, 8), got (8, 12)") &&
                   Contains("unexpected: 2\n    model.h.2.q_proj.weight\n    "
                            "norm.weight"));
    CHECK_FALSE(fs::exists(out));
  }

  Tensors native = {{"embed.weight", at::zeros({256, kDim})},
                    {"layers.0.experts", at::zeros({kExperts, kDim, kDim})},
                    {"layers.0.down.weight", at::zeros({kHidden, kDim})},
                    {"layers.7.q.weight", at::zeros({kDim, kDim})}};
  checkpoint::HfFolder content;
  content.config_json =
      R"({"model_type": "test_keys", "hidden_size": 8, "num_hidden_layers": 2})";
  content.has_titan_names = true;
  for (const auto& [name, tensor] : native)
    content.tensors.push_back(train::source_of(name, tensor));
  const std::string ours = (folder.path() / "ours").string();
  checkpoint::write_hf_folder(checkpoint::real_file_system(), ours, content);
  const cli::CapturedRun back = convert({ours, out, "--to", "hf"});
  CHECK(back.exit_code == 2);
  CHECK_THAT(back.err,
             Contains("missing: 12\n    head.weight") &&
                 Contains("layers.0.down.weight shape: expected (8, 12), got "
                          "(12, 8)") &&
                 Contains("unexpected: 1\n    layers.7.q.weight"));
  CHECK_FALSE(fs::exists(out));
}

}  // namespace titan::cases
