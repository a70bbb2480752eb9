// SPDX-License-Identifier: BSD-3-Clause
// The commands' own part: options, exit codes, where text goes. What they print
// is tested in core/config.
#include <filesystem>
#include <fstream>
#include <iterator>

#include <catch2/catch.hpp>

#include "tests/unit/core/cli/captured_run.h"

using titan::cli::CapturedRun;
using titan::cli::run_captured;

namespace {

std::string write_recipe(const std::string& content) {
  const auto file =
      std::filesystem::temp_directory_path() / "titan_config_command_test.yaml";
  std::ofstream(file) << content;
  return file.string();
}

}  // namespace

TEST_CASE("config schema --markdown prints the committed page", "[unit]") {
  std::ifstream stream(TITAN_SOURCE_DIR "/docs/recipes.md");
  const std::string page{std::istreambuf_iterator<char>(stream), {}};
  const CapturedRun result = run_captured({"config", "schema", "--markdown"});
  CHECK(result.exit_code == 0);
  CHECK(result.out == page);
  CHECK(run_captured({"config", "schema"}).out.starts_with("{\"properties\":"));
}

TEST_CASE("a faulty recipe ends with exit code 2 and every fault", "[unit]") {
  const std::string file =
      write_recipe("training: {steps: 0, stpes: 3}\nplugins: {serach: []}\n");
  const CapturedRun plugins = run_captured({"config", "print", file});
  CHECK(plugins.exit_code == 2);
  CHECK(plugins.out.empty());
  CHECK_THAT(plugins.err, Catch::Contains("Did you mean plugins.search?"));
  const CapturedRun rest = run_captured(
      {"config", "print", write_recipe("training: {steps: 0, stpes: 3}\n")});
  CHECK_THAT(rest.err, Catch::Contains("expected at least 1, got 0"));
  CHECK_THAT(rest.err, Catch::Contains("Did you mean training.steps?"));
  CHECK_THAT(rest.err, Catch::Contains("[model.use] key is missing"));
  std::filesystem::remove(file);
}

TEST_CASE("config without a subcommand or with a wrong one is exit code 2",
          "[unit]") {
  CHECK(run_captured({"config"}).exit_code == 2);
  CHECK(run_captured({"config", "prnt"}).exit_code == 2);
  CHECK(run_captured({"config", "print"}).exit_code == 2);
  CHECK(run_captured({"config", "print", "does/not/exist.yaml"}).exit_code ==
        2);
}
