// SPDX-License-Identifier: BSD-3-Clause
#include <chrono>
#include <filesystem>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <titan/text.h>

#include "tests/unit/core/cli/captured_run.h"

namespace titan::cli {
namespace {

using Json = nlohmann::json;

const std::string kDebug = recipe_path("llama3_debug_tinyshakespeare");

Json validated(std::vector<std::string> more,
               const std::string& recipe = kDebug) {
  std::vector<std::string> arguments = {"validate", recipe, "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const CapturedRun run = run_captured(arguments);
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  return Json::parse(run.out);
}

}  // namespace

// Counts: reference models.md, by formula and by torchtitan.
TEST_CASE("validate counts the parameters of every flavor", "[unit][golden]") {
  struct Size {
    const char* recipe;
    const char* flavor;
    int64_t parameters;
    const char* vocabulary = nullptr;  // where the recipe has a smaller one
  };
  const Size sizes[] = {
      {"llama3_debug_tinyshakespeare", "debugmodel", 6163712},
      {"llama3_debug_tinyshakespeare", "1B", 1235814400},
      {"llama3_debug_tinyshakespeare", "3B", 3212749824},
      {"llama3_debug_tinyshakespeare", "8B", 8030261248},
      {"llama3_debug_tinyshakespeare", "70B", 70553706496},
      {"llama3_debug_tinyshakespeare", "405B", 405853388800},
      {"qwen3_debug", "debugmodel", 31987968},
      {"qwen3_debug", "0.6B", 596049920},
      {"qwen3_debug", "1.7B", 1720574976},
      {"qwen3_debug", "4B", 4022468096},
      {"qwen3_debug", "8B", 8190735360},
      {"qwen3_debug", "14B", 14768307200},
      {"qwen3_debug", "32B", 32762123264},
      {"qwen3_debug", "debugmodel_moe", 315758848},
      {"qwen3_debug", "30B-A3B", 30532122624},
      {"qwen3_debug", "235B-A22B", 235093634560},
      {"deepseek_v3_debug", "debugmodel", 33014016},
      {"deepseek_v3_debug", "16B", 15706484224},
      {"deepseek_v3_debug", "236B", 235741434880},
      {"deepseek_v3_debug", "671B", 671026404352},
      {"qwen3_5_debug", "debugmodel", 132412336, "248320"},
      {"qwen3_5_debug", "0.8B", 1006672704, "248320"},
      {"qwen3_5_debug", "2B", 2390384448, "248320"},
      {"qwen3_5_debug", "4B", 4841450496, "248320"},
      {"qwen3_5_debug", "9B", 8953803264, "248320"},
      {"qwen3_5_debug", "27B", 26895998464, "248320"},
      {"qwen3_5_debug", "debugmodel_moe", 135290456, "248320"},
      {"qwen3_5_debug", "35B-A3B", 34660610688, "248320"},
      {"qwen3_5_debug", "122B-A10B", 122111526912, "248320"},
      {"qwen3_5_debug", "397B-A17B", 396346350336, "248320"},
  };
  for (const Size& size : sizes) {
    INFO(size.recipe << ' ' << size.flavor);
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::string> changes = {
        "--set", text("model.flavor='", size.flavor, '\'')};
    if (size.vocabulary != nullptr)
      changes.insert(
          changes.end(),
          {"--set", text("model.config.vocab_size=", size.vocabulary)});
    const Json report = validated(changes, recipe_path(size.recipe));
    [[maybe_unused]] const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
    CHECK(report.at("parameters") == size.parameters);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    CHECK(seconds < 2.0);  // sanitizers take several times as long
#endif
  }
}

TEST_CASE("validate estimates memory from shapes alone", "[unit]") {
  const Json whole = validated({"--set", "precision=fp32"});
  const Json& memory = whole.at("memory_bytes");
  const int64_t bytes = whole.at("parameters").get<int64_t>() * 4;
  CHECK(memory.at("parameters") == bytes);
  CHECK(memory.at("gradients") == bytes);
  CHECK(memory.at("optimizer") == 2 * bytes);
  CHECK(memory.at("activations") > 0);

  const Json bf16 = validated({"--set", "precision=bf16"});
  // A bf16 copy of each parameter.
  CHECK(bf16.at("memory_bytes").at("parameters") == bytes + bytes / 2);

  const Json sharded = validated({"--world", "4", "--set", "precision=fp32"});
  CHECK(sharded.at("mesh").at("dp_shard") == 4);
  CHECK(sharded.at("memory_bytes").at("optimizer") < 2 * bytes / 4 + 4096);

  const Json cut = validated(
      {"--world", "8", "--set", "parallel.tp=2", "--set", "precision=fp32"});
  CHECK(cut.at("mesh").at("dp_shard") == 4);
  CHECK(cut.at("memory_bytes").at("optimizer") < 2 * bytes / 8 * 1.05);

  const Json recomputed =
      validated({"--set", "precision=fp32", "--set", "recompute.mode=full"});
  CHECK(recomputed.at("memory_bytes").at("activations") <
        memory.at("activations"));
}

TEST_CASE("validate refuses what the trainer refuses", "[unit]") {
  const auto refused = [](const std::string& setting) {
    const CapturedRun run =
        run_captured({"validate", kDebug, "--set", setting});
    CHECK(run.exit_code == 2);
    CHECK(run.out.empty());
    return run.err;
  };
  CHECK_THAT(refused("training.tokens_per_step=1025"),
             Catch::Contains("multiple of tokens_per_microbatch"));
  CHECK_THAT(refused("training.tokens_per_microbatch=1000"),
             Catch::Contains("seq_len"));
  CHECK_THAT(refused("data.files=[/not/there.txt]"),
             Catch::Contains("/not/there.txt"));
  CHECK_THAT(refused("model.config.vocab_size=100"),
             Catch::Contains("[data.tokenizer] expected at most 100 ids"));
  CHECK_THAT(refused("model.config.num_headz=4"), Catch::Contains("num_heads"));
  CHECK_THAT(refused("parallel.tp=3"), Catch::Contains("tp"));
}

TEST_CASE("every recipe of configs/ validates", "[unit]") {
  int64_t num_recipes = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(TITAN_SOURCE_DIR "/configs")) {
    if (entry.path().extension() != ".yaml") continue;
    INFO(entry.path().string());
    const CapturedRun run =
        run_captured({"validate", entry.path().string(), "--json"});
    CHECK(run.err == "");
    CHECK(run.exit_code == 0);
    ++num_recipes;
  }
  CHECK(num_recipes >= 4);
}

TEST_CASE("config knows what plugins add to recipes", "[unit]") {
  const CapturedRun printed = run_captured({"config", "print", kDebug});
  CHECK(printed.exit_code == 0);
  CHECK_THAT(printed.out, Catch::Contains("num_heads: 16"));
  const CapturedRun explained =
      run_captured({"config", "explain", kDebug, "model.config.num_heads"});
  CHECK(explained.exit_code == 0);
  CHECK_THAT(explained.out, Catch::Contains("Query heads"));
  const CapturedRun differing = run_captured(
      {"config", "diff", kDebug, recipe_path("bench_llama3_debug"), "--json"});
  CHECK(differing.exit_code == 1);
  CHECK_THAT(differing.out, Catch::Contains("training.seq_len"));
}

TEST_CASE("plan prints the plan and how two recipes' plans differ", "[unit]") {
  const CapturedRun plan = run_captured({"plan", kDebug, "--json"});
  CHECK(plan.exit_code == 0);
  CHECK(Json::parse(plan.out).is_object());
  CHECK(run_captured({"plan", kDebug, "--diff", kDebug}).exit_code == 0);
  const CapturedRun differing =
      run_captured({"plan",
                    kDebug,
                    "--diff",
                    recipe_path("llama3_nanogpt_cpu_tinyshakespeare"),
                    "--json"});
  CHECK(differing.exit_code == 1);
  CHECK_FALSE(Json::parse(differing.out).empty());
}

}  // namespace titan::cli
