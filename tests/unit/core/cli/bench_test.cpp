// SPDX-License-Identifier: BSD-3-Clause
// `titan bench train` on a model of a few thousand parameters, with weights and
// batches in the forms that other trainers write.
#include <cmath>
#include <cstring>
#include <filesystem>

#include <ATen/ATen.h>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/checkpoint/safetensors_folder.h"
#include "core/train/assemble.h"
#include "core/train/tensor_bytes.h"
#include "tests/unit/core/cli/captured_run.h"

namespace titan::cli {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr int64_t kSteps = 3, kRows = 2, kLen = 8, kVocabulary = 64;

const std::string kRecipe = recipe_path("bench_llama3_small");
const std::vector<std::string> kTiny = {"model.config.dim=16",
                                        "model.config.num_layers=1",
                                        "model.config.num_heads=2",
                                        "model.config.num_kv_heads=1",
                                        "model.config.hidden_dim=32",
                                        "model.config.vocab_size=64",
                                        "training.seq_len=8",
                                        "training.tokens_per_microbatch=16"};

fs::path scratch(const std::string& name) {
  return fs::temp_directory_path() / ("titan_bench_test_" + name);
}

std::string write_tokens() {
  std::string header =
      "{'descr': '<i4', 'fortran_order': False, 'shape': (3, 2, 9), }";
  header.resize(128 - 10 - 1, ' ');
  header += '\n';
  const fs::path path = scratch("tokens.npy");
  std::ofstream file(path, std::ios::binary);
  file << "\x93NUMPY" << '\x01' << '\0' << static_cast<char>(header.size())
       << '\0' << header;
  for (int32_t i = 0; i < kSteps * kRows * (kLen + 1); ++i) {
    const int32_t token = i * 29 % kVocabulary;
    file.write(reinterpret_cast<const char*>(&token), sizeof token);
  }
  return path.string();
}

// TorchTitan's name of a parameter.
std::string peer_name(std::string name) {
  if (name == "lm_head.weight") name = "output.weight";
  if (const size_t at = name.find(".qkv_linear"); at != std::string::npos)
    name.erase(at, std::strlen(".qkv_linear"));
  return name;
}

// The recipe's own initial weights (seed 0), times `factor`.
void write_weights(const fs::path& path,
                   double factor,
                   std::string (*name_of)(std::string)) {
  train::SessionOptions options;
  options.overrides = kTiny;
  train::Session session(kRecipe, options);
  dist::Mesh mesh = dist::Mesh::single();
  const auto training =
      train::assemble(session, mesh, nullptr, train::DataUse::kNone);
  training->engine->initialise(0);
  std::vector<checkpoint::TensorSource> sources;
  for (const parallel::LocalPart& part : training->engine->parts())
    sources.push_back(
        train::source_of(name_of(part.parameter->fqn),
                         training->engine->master(part).clone() * factor));
  checkpoint::write_safetensors(
      checkpoint::real_file_system(), path, sources, {checkpoint::kTitanNames});
}

std::string write_init(double factor) {
  const fs::path path = scratch("init.safetensors");
  write_weights(path, factor, peer_name);
  return path.string();
}

CapturedRun bench(std::vector<std::string> more) {
  std::vector<std::string> arguments = {
      "bench", "train", kRecipe, "--steps", "2", "--warmup", "1", "--json"};
  for (const std::string& setting : kTiny) {
    arguments.emplace_back("--set");
    arguments.push_back(setting);
  }
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_captured(arguments);
}

}  // namespace

TEST_CASE("bench train times given batches under the peers' keys", "[unit]") {
  const std::string tokens = write_tokens();
  const CapturedRun run = bench({"--tokens", tokens, "--threads", "1"});
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  const Json result = Json::parse(run.out);
  CHECK(result.at("ms_steps").size() == 2);
  CHECK(result.at("losses").size() == 3);
  CHECK(result.at("threads") == 1);
  CHECK(result.at("ms_step_min") <= result.at("ms_step_median"));
  CHECK(result.at("tokens_s") > 0);
  CHECK(result.at("peak_rss_mb") > 10);
  CHECK(result.at("startup_s") >= result.at("first_step_s"));
  // Near the loss of guessing.
  CHECK(std::abs(result.at("losses")[0].get<double>() - std::log(64.0)) < 1.5);

  // Weights from a file are the ones that the seed would have made ...
  const Json loaded =
      Json::parse(bench({"--tokens", tokens, "--init", write_init(1.0)}).out);
  CHECK(loaded.at("losses") == result.at("losses"));
  // ... or others.
  const Json other =
      Json::parse(bench({"--tokens", tokens, "--init", write_init(0.5)}).out);
  CHECK(other.at("losses") != result.at("losses"));

  // The recipe's own weights to start from are taken, too.
  const fs::path initial = scratch("initial");
  fs::create_directories(initial);
  write_weights(initial / "model.safetensors", 0.5, [](std::string name) {
    return name;
  });
  const Json started =
      Json::parse(bench({"--tokens",
                         tokens,
                         "--set",
                         "checkpoint.initial=" + initial.string()})
                      .out);
  CHECK(started.at("losses") == other.at("losses"));
}

TEST_CASE("bench train refuses files that do not fit the recipe", "[unit]") {
  const auto refused = [](const std::vector<std::string>& more) {
    const CapturedRun run = bench(more);
    CHECK(run.exit_code == 2);
    return run.err;
  };
  CHECK_THAT(
      refused({"--tokens", write_tokens(), "--set", "training.seq_len=4"}),
      Catch::Contains("training.seq_len + 1 = 5"));
  CHECK_THAT(refused({"--tokens",
                      write_tokens(),
                      "--init",
                      write_init(1),
                      "--set",
                      "model.config.num_layers=2"}),
             Catch::Contains("expected 'layers.1."));
}

}  // namespace titan::cli
