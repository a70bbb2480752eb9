// SPDX-License-Identifier: BSD-3-Clause
// `titan data inspect` and `prepare` through the whole program.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/unit/core/cli/captured_run.h"
#include "tests/unit/core/tokenizer/temporary_folder.h"

namespace titan::cli {
namespace {

using Catch::Contains;
using Json = nlohmann::json;

// Two documents in file order, in a row of eight.
std::string write_recipe(const test::TemporaryFolder& folder,
                         const std::string& data) {
  folder.write("a.jsonl", "{\"text\":\"abc\"}\n{\"text\":\"de\"}\n");
  return folder.write(
      "recipe.yaml",
      "model: {use: titan.llama3, flavor: debugmodel}\n"
      "data: " +
          data +
          "\n"
          "training: {steps: 1, seq_len: 8}\n"
          "optimizer: {use: titan.adamw, config: {lr: 1e-3}}\n");
}

}  // namespace

TEST_CASE("inspect shows documents, positions and targets of a row", "[unit]") {
  const test::TemporaryFolder folder;
  const std::string recipe = write_recipe(
      folder,
      "{use: jsonl, files: ['${recipe_dir}/a.jsonl'], shuffle: false, lanes: "
      "1, epochs: 1}");
  const CapturedRun shown = run_captured({"data", "inspect", recipe});
  INFO(shown.err);
  REQUIRE(shown.exit_code == 0);
  CHECK_THAT(shown.out, Contains("row 0: 8 tokens, 3 targets, 3 documents"));
  CHECK_THAT(shown.out, Contains("+ places 0..1, positions 0..1: \"ab\""));
  CHECK_THAT(shown.out, Contains("- places 2..2, positions 2..2: \"c\""));
  CHECK_THAT(shown.out, Contains("+ places 3..3, positions 0..0: \"d\""));
  const CapturedRun json =
      run_captured({"data", "inspect", recipe, "--rows", "1", "--json"});
  const Json row = Json::parse(json.out).at("rows").at(0);
  CHECK(row.at("positions") == Json({0, 1, 2, 0, 1, 0, 1, 2}));
  CHECK(row.at("labels") == Json({98, 99, -100, 101, -100, -100, -100, -100}));
}

TEST_CASE("prepared tokens are what a recipe then trains on", "[unit]") {
  const test::TemporaryFolder folder;
  const std::string recipe = write_recipe(
      folder,
      "{use: tokens, files: ['${recipe_dir}/out'], shuffle: false, lanes: 1}");
  const std::vector<std::string> prepare = {"data",
                                            "prepare",
                                            folder.path() + "/a.jsonl",
                                            "--use",
                                            "jsonl",
                                            "--out",
                                            folder.path() + "/out",
                                            "--json"};
  for (int i = 0; i < 2; ++i) {  // The second time all is there.
    const CapturedRun prepared = run_captured(prepare);
    INFO(prepared.err);
    REQUIRE(prepared.exit_code == 0);
    const Json facts = Json::parse(prepared.out);
    CHECK(facts.at("tokens") == 5);
    CHECK(facts.at("documents") == 2);
  }
  const CapturedRun json =
      run_captured({"data", "inspect", recipe, "--rows", "1", "--json"});
  INFO(json.err);
  REQUIRE(json.exit_code == 0);
  const Json row = Json::parse(json.out).at("rows").at(0);
  CHECK(row.at("tokens") == Json({97, 98, 99, 100, 101, 97, 98, 99}));
}

TEST_CASE("data commands name what is wrong", "[unit]") {
  const test::TemporaryFolder folder;
  const std::string recipe =
      write_recipe(folder, "{use: tokens, files: ['${recipe_dir}/a.jsonl']}");
  const CapturedRun odd = run_captured({"data", "inspect", recipe});
  CHECK(odd.exit_code == 2);
  CHECK_THAT(odd.err, Contains("token file without a header"));
  const CapturedRun none = run_captured(
      {"data", "prepare", folder.path() + "/none.txt", "--out", folder.path()});
  CHECK(none.exit_code == 2);
  CHECK_THAT(none.err, Contains("no such file"));
}

TEST_CASE("data prepare refuses a plugin that reads nothing", "[unit]") {
  const test::TemporaryFolder folder;
  const std::string file = folder.write("a.txt", "words");
  const CapturedRun run = run_captured({"data",
                                        "prepare",
                                        file,
                                        "--out",
                                        folder.path() + "/out",
                                        "--plugin",
                                        "./any.so"});
  CHECK(run.exit_code == 2);
  CHECK_THAT(run.err, Contains("a plugin's dataset in --use, got text"));
}

}  // namespace titan::cli
