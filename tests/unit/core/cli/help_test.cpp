// SPDX-License-Identifier: BSD-3-Clause
// What --help of each command says, as people last agreed to it. The commands
// are read from the help itself, so that a new one cannot be left out.
#include <sstream>

#include <catch2/catch.hpp>

#include "tests/unit/core/cli/captured_run.h"

namespace titan::cli {
namespace {

// The first word of each line under "Subcommands:".
std::vector<std::string> subcommands_in(const std::string& help) {
  std::vector<std::string> names;
  std::istringstream lines(help);
  bool is_listing = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "Subcommands:") {
      is_listing = true;
    } else if (is_listing && line.starts_with("  ") && line[2] != ' ') {
      names.push_back(line.substr(2, line.find(' ', 2) - 2));
    } else if (line.empty()) {
      is_listing = false;
    }
  }
  return names;
}

// Number of commands whose help was looked at.
int check_help(const std::vector<std::string>& command) {
  std::vector<std::string> words = command;
  words.emplace_back("--help");
  const CapturedRun run = run_captured(words);
  std::string name = "help";
  for (const std::string& word : command) name += "_" + word;
  INFO(name);
  CHECK(run.exit_code == 0);
  CHECK_THAT(run.out, Catch::Contains("Example"));
  CHECK(is_approved(name, run.out));
  int num_checked = 1;
  for (const std::string& sub : subcommands_in(run.out)) {
    words = command;
    words.push_back(sub);
    num_checked += check_help(words);
  }
  return num_checked;
}

}  // namespace

TEST_CASE("the help of each command is the approved text", "[unit][golden]") {
  CHECK(check_help({}) >= 20);
}

}  // namespace titan::cli
