// SPDX-License-Identifier: BSD-3-Clause
// What --help of each command says, as people last agreed to it.
#include <catch2/catch.hpp>

#include "tests/unit/core/cli/captured_run.h"

namespace titan::cli {

TEST_CASE("the help of each command is the approved text", "[unit][golden]") {
  const std::vector<std::vector<std::string>> commands = {
      {"validate"}, {"plan"}, {"generate"}, {"bench", "train"}, {"train"}};
  for (std::vector<std::string> command : commands) {
    std::string name = "help";
    for (const std::string& word : command) name += "_" + word;
    command.emplace_back("--help");
    const CapturedRun run = run_captured(command);
    INFO(name);
    CHECK(run.exit_code == 0);
    CHECK_THAT(run.out, Catch::Contains("Example: titan "));
    CHECK(is_approved(name, run.out));
  }
}

}  // namespace titan::cli
