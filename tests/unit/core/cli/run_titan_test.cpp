// SPDX-License-Identifier: BSD-3-Clause
#include "core/cli/run_titan.h"

#include <filesystem>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>

#include <catch2/catch.hpp>

#include <titan/error.h>

#include "core/version.h"
#include "tests/unit/core/cli/captured_run.h"

using titan::cli::report_error;

using titan::cli::CapturedRun;
using titan::cli::run_captured;

namespace {

template <typename Failure>
int code_of(const Failure& failure) {
  std::ostringstream err;
  const int code = report_error(failure, err);
  CHECK_FALSE(err.str().empty());
  return code;
}

}  // namespace

TEST_CASE("--version names titan, commit, LibTorch and compiler", "[unit]") {
  const CapturedRun outcome = run_captured({"--version"});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.err.empty());
  CHECK_THAT(outcome.out,
             Catch::StartsWith("titan " + std::string(titan::version())) &&
                 Catch::Contains("commit ") &&
                 Catch::Contains("libtorch 2.1") &&
                 Catch::Contains("compiler GNU "));
}

TEST_CASE("--help shows an example and leaves stderr empty", "[unit]") {
  const CapturedRun outcome = run_captured({"--help"});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.err.empty());
  CHECK_THAT(outcome.out, Catch::Contains("Example: titan train "));
}

TEST_CASE("no command is a user error that shows the help", "[unit]") {
  const CapturedRun outcome = run_captured({});
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.out.empty());
  CHECK_THAT(outcome.err, Catch::Contains("Example: titan train "));
}

TEST_CASE("an unknown command is a user error that repeats it", "[unit]") {
  const CapturedRun outcome = run_captured({"xyzzy"});
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.err,
             Catch::Contains("[titan] unknown command") &&
                 Catch::Contains("got 'xyzzy'."));
}

TEST_CASE("a slip in a command's name gets the name that was meant", "[unit]") {
  const CapturedRun outcome = run_captured({"docter"});
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.err, Catch::EndsWith("Did you mean 'doctor'?\n"));
}

TEST_CASE("an unknown option is a user error", "[unit]") {
  const CapturedRun outcome = run_captured({"--frobnicate"});
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.err,
             Catch::Contains("[titan] unknown option") &&
                 Catch::Contains("--frobnicate"));
}

TEST_CASE("an empty word is a user error", "[unit]") {
  CHECK(run_captured({""}).exit_code == 2);
}

TEST_CASE("each kind of error has its exit code", "[unit]") {
  CHECK(code_of(titan::UserError("a")) == 2);
  CHECK(code_of(titan::BugError("a")) == 70);
  CHECK(code_of(titan::DeviceError("a")) == 75);
  CHECK(code_of(std::bad_alloc()) == 70);
  CHECK(code_of(std::logic_error("a")) == 70);
}

TEST_CASE("a user error prints its message and nothing else", "[unit]") {
  std::ostringstream err;
  report_error(titan::UserError("[a] b: expected c, got d."), err);
  CHECK(err.str() == "[a] b: expected c, got d.\n");
}

TEST_CASE("--plugin with a relative path counts from the working folder",
          "[unit]") {
  const std::string model = TITAN_SOURCE_DIR "/tests/golden/llama3";
  const std::string recipe =
      TITAN_SOURCE_DIR "/configs/llama3_debug_tinyshakespeare.yaml";
  const std::string expected =
      std::filesystem::current_path() / "no_such_plugin.so";
  const std::vector<std::vector<std::string>> commands = {
      {"train", recipe},
      {"validate", recipe},
      {"generate", model},
      {"parity", model},
      {"convert", model, "no_such_output", "--to", "titan-weights"}};
  for (std::vector<std::string> arguments : commands) {
    INFO(arguments.front());
    arguments.insert(arguments.end(), {"--plugin", "./no_such_plugin.so"});
    const CapturedRun outcome = run_captured(arguments);
    CHECK(outcome.exit_code == titan::cli::kExitUserError);
    CHECK_THAT(outcome.err, Catch::Contains(expected));
  }
  CHECK_FALSE(std::filesystem::exists("no_such_output"));
}
