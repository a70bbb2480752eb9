// SPDX-License-Identifier: BSD-3-Clause
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/unit/core/cli/captured_run.h"

namespace titan::cli {
namespace {

const std::string kPrimes = "gate=7x13,up=7x13";

std::string sound_kernel() {
  return std::string(TITAN_FAULTY_KERNEL_DIR) + "/libsound.so";
}

/// The environment's TITAN_FORCE_KERNEL, another while this lives.
class ForcedKernel {
 public:
  explicit ForcedKernel(const char* list) {
    if (const char* value = std::getenv(kName)) before_ = value;
    list == nullptr ? ::unsetenv(kName) : ::setenv(kName, list, 1);
  }
  ~ForcedKernel() {
    before_ ? ::setenv(kName, before_->c_str(), 1) : ::unsetenv(kName);
  }

 private:
  static constexpr const char* kName = "TITAN_FORCE_KERNEL";
  std::optional<std::string> before_;
};

nlohmann::json json_of(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "kernels");
  arguments.emplace_back("--json");
  const CapturedRun run = run_captured(arguments);
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  return nlohmann::json::parse(run.out);
}

std::string error_of(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "kernels");
  const CapturedRun run = run_captured(arguments);
  CHECK(run.exit_code == kExitUserError);
  return run.err;
}

const nlohmann::json* row_of(const nlohmann::json& rows,
                             const std::string& id) {
  for (const auto& row : rows)
    if (row.at("id") == id) return &row;
  return nullptr;
}

}  // namespace

TEST_CASE("kernels list has references, built-ins and what --plugin names",
          "[unit]") {
  const auto listed = json_of({"list", "--plugin", sound_kernel()});
  const auto& rows = listed.at("kernels");
  const auto* sound = row_of(rows, "test.sound");
  REQUIRE(sound != nullptr);
  CHECK(sound->at("op") == "titan.swiglu/1");
  CHECK(sound->at("plugin") == "test.sound");
  CHECK(sound->at("target") == "cpu");
  CHECK(sound->at("dtypes") == nlohmann::json::array({"f32"}));
  CHECK(sound->at("runs_here") == true);
  const auto flags = sound->at("flags").get<std::vector<std::string>>();
  CHECK_THAT(flags, Catch::VectorContains(std::string("backward")));
  CHECK(row_of(rows, "titan.reference") != nullptr);
  const auto* wide = row_of(rows, "titan.attention_cpu_avx512");
  REQUIRE(wide != nullptr);
  CHECK_THAT(wide->at("target").get<std::string>(),
             Catch::Contains("avx512bw"));
  // What it needs and this machine lacks is said.
  CHECK(wide->at("runs_here") == (wide->at("reason") == ""));
}

TEST_CASE("kernels list --op takes an op's name and no other", "[unit]") {
  const auto listed = json_of({"list", "--op", "swiglu"});
  for (const auto& row : listed.at("kernels"))
    CHECK(row.at("op") == "titan.swiglu/1");
  CHECK_THAT(error_of({"list", "--op", "titan.swiglo/1"}),
             Catch::Contains("Did you mean titan.swiglu/1?"));
  CHECK_THAT(run_captured({"kernels", "list"}).out,
             Catch::Contains("TARGET") && Catch::Contains("titan.reference"));
}

TEST_CASE("kernels explain gives the chosen kernel and each other's reason",
          "[unit]") {
  const ForcedKernel none(nullptr);
  const auto found = json_of(
      {"explain", "swiglu", "--shape", kPrimes, "--plugin", sound_kernel()});
  CHECK(found.at("chosen") == "test.sound");
  CHECK(found.at("shape") == kPrimes);
  CHECK(found.at("shape_from") == "--shape");
  const auto* sound = row_of(found.at("candidates"), "test.sound");
  CHECK(sound->at("score") == 100);
  CHECK(sound->at("is_chosen") == true);
  CHECK(row_of(found.at("candidates"), "titan.reference")->at("reason") ==
        "a better one was accepted");
  const auto half = json_of(
      {"explain", "swiglu", "--dtype", "bf16", "--plugin", sound_kernel()});
  CHECK(half.at("chosen") == "titan.reference");
  CHECK(row_of(half.at("candidates"), "test.sound")->at("reason") ==
        "does not take bf16");
  CHECK_THAT(
      half.at("shape_from").get<std::string>(),
      Catch::Contains("prime sizes") && Catch::Contains("no --shape given"));
}

TEST_CASE("kernels explain --set changes what kernels see", "[unit]") {
  const auto found = json_of({"explain",
                              "attention",
                              "--shape",
                              "q=64x2x8,k=64x2x8,v=64x2x8",
                              "--set",
                              "window=9",
                              "--set",
                              "causal=false",
                              "--grad"});
  CHECK(found.at("attributes") == "scale=0 causal=false window=9 logit_cap=0");
  CHECK(found.at("gradient") == true);
}

TEST_CASE("kernels explain applies a recipe's rules to the site", "[unit]") {
  const ForcedKernel none(nullptr);
  const std::string recipe = "kernels_explain_test.yaml";
  std::ofstream(recipe) << "extends: ["
                        << recipe_path("llama3_debug_tinyshakespeare") << "]\n"
                        << "overrides:\n"
                        << "  - {match: \"layers.0.**\", op: titan.swiglu/1, "
                           "use: titan.reference}\n";
  const auto chosen_at = [&](const std::string& site) {
    return json_of({"explain",
                    "swiglu",
                    "--recipe",
                    recipe,
                    "--site",
                    site,
                    "--plugin",
                    sound_kernel()})
        .at("chosen");
  };
  CHECK(chosen_at("layers.0.feed_forward.swiglu") == "titan.reference");
  CHECK(chosen_at("layers.1.feed_forward.swiglu") == "test.sound");
  std::filesystem::remove(recipe);
  CHECK_THAT(error_of({"explain", "swiglu", "--recipe", recipe}),
             Catch::Contains("--site"));
}

TEST_CASE("kernels explain repeats the op's own error with a shape that fits",
          "[unit]") {
  CHECK_THAT(
      error_of({"explain", "swiglu", "--shape", "gate=7x13,up=7x12"}),
      Catch::Contains("[titan.swiglu/1] up shape: expected that of gate "
                      "(7, 13), got (7, 12)") &&
          Catch::Contains("A shape that it takes: --shape gate=7x13,up=7x13"));
  CHECK_THAT(error_of({"explain", "swiglu", "--shape", "gate=7x13"}),
             Catch::Contains("input up is absent"));
  CHECK_THAT(error_of({"explain", "swiglu", "--shape", "gats=7x13"}),
             Catch::Contains("Did you mean \"gate\"?"));
  CHECK_THAT(error_of({"explain", "swiglu", "--shape", "gate=7xq"}),
             Catch::Contains("expected name=AxBxC"));
  CHECK_THAT(error_of({"explain", "swiglu", "--dtype", "int4"}),
             Catch::Contains("expected fp32, bf16, fp16 or fp64"));
  CHECK_THAT(error_of({"explain", "attention", "--set", "windw=3"}),
             Catch::Contains("Did you mean \"window\"?"));
}

TEST_CASE("kernels bench times each kernel beside the reference", "[unit]") {
  const int threads = at::get_num_threads();
  const std::vector<std::string> arguments = {"bench",
                                              "swiglu",
                                              "--shape",
                                              kPrimes,
                                              "--steps",
                                              "3",
                                              "--threads",
                                              "1",
                                              "--kernels",
                                              "test.sound",
                                              "--plugin",
                                              sound_kernel()};
  const auto found = json_of(arguments);
  CHECK(found.at("threads") == 1);
  CHECK(found.at("flops") == 5.0 * 7 * 13 * 3);
  CHECK(found.at("bytes") == 3.0 * 2 * 4 * 7 * 13);
  REQUIRE(found.at("kernels").size() == 2);
  for (const auto& row : found.at("kernels")) {
    CHECK(row.at("ms_median").get<double>() >= row.at("ms_min").get<double>());
    CHECK(row.at("forward_error").get<double>() < 1e-5);
    CHECK(row.at("backward_error").get<double>() < 1e-5);
  }
  CHECK(found.at("kernels").at(1).at("speed_of_reference") == 1.0);
  CHECK_THAT(error_of({"bench", "swiglu", "--kernels", "test.soun"}),
             Catch::Contains("got \"test.soun\""));
  at::set_num_threads(threads);
}

TEST_CASE("kernels bench takes the cases of every op", "[unit]") {
  const int threads = at::get_num_threads();
  const auto listed = json_of({"list"});
  for (const auto& row : listed.at("kernels")) {
    if (row.at("id") != "titan.reference") continue;
    const std::string op = row.at("op");
    INFO(op);
    const auto found = json_of({"bench",
                                op,
                                "--kernels",
                                "titan.reference",
                                "--steps",
                                "1",
                                "--threads",
                                "1"});
    CHECK(found.at("kernels").at(0).at("forward_error").get<double>() < 1e-3);
  }
  at::set_num_threads(threads);
}

TEST_CASE("parity honours TITAN_FORCE_KERNEL", "[unit]") {
  const ForcedKernel unknown("titan.rms_norm/1=acme.no_such_kernel");
  const CapturedRun run =
      run_captured({"parity", TITAN_SOURCE_DIR "/tests/golden/llama3"});
  CHECK(run.exit_code == kExitUserError);
  CHECK_THAT(run.err,
             Catch::Contains("[TITAN_FORCE_KERNEL] unknown kernel for "
                             "titan.rms_norm/1") &&
                 Catch::Contains("acme.no_such_kernel"));
}

}  // namespace titan::cli
