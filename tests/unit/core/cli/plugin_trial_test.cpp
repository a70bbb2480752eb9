// SPDX-License-Identifier: BSD-3-Clause
// `titan plugin test` on kernels that are wrong in one way each. Most run the
// built `titan`: what is tested is that it outlives them.
#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sys/wait.h>

#include <titan/text.h>

#include "core/op/catalogue.h"
#include "tests/unit/core/cli/captured_run.h"

namespace titan::cli {
namespace {

std::string faulty(const std::string& name) {
  return std::string(TITAN_FAULTY_KERNEL_DIR) + "/lib" + name + ".so";
}

struct Tested {
  int exit_code = 0;
  nlohmann::json report;

  /// Details of the checks that failed.
  std::string failures() const {
    std::string out;
    for (const auto& check : report.at("checks"))
      if (check.at("outcome") == "FAILED")
        out += check.at("check").get<std::string>() + ": " +
               check.at("detail").get<std::string>() + '\n';
    return out;
  }
};

Tested test_plugin_file(const std::string& file, const std::string& more = "") {
  const std::string line = TITAN_BINARY_DIR "/bin/titan plugin test " + file +
                           " --json " + more + " 2>/dev/null";
  std::FILE* pipe = ::popen(line.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string out;
  std::array<char, 4096> room{};
  for (size_t got; (got = std::fread(room.data(), 1, room.size(), pipe)) > 0;)
    out.append(room.data(), got);
  Tested tested;
  tested.exit_code = WEXITSTATUS(::pclose(pipe));
  INFO(out);
  tested.report = nlohmann::json::parse(out);
  return tested;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("plugin test passes a sound kernel and says what it ran", "[unit]") {
  const Tested tested = test_plugin_file(faulty("sound"), "--seed 11");
  CHECK(tested.exit_code == 0);
  CHECK(tested.report.at("passes") == true);
  CHECK(tested.report.at("seed") == 11);
  CHECK(tested.failures() == "");
  const auto& checks = tested.report.at("checks");
  REQUIRE(checks.size() == 3);
  CHECK(checks.at(0).at("check") == "loads");
  CHECK(checks.at(1).at("component") == "test.sound");
  const size_t num_cases = op::find_op("titan.swiglu/1").cases().size();
  CHECK(checks.at(1).at("detail") == text(num_cases, " cases"));
  CHECK(checks.at(2).at("check") == "cases, strided inputs");
}

TEST_CASE("plugin test finds what is wrong with a kernel", "[unit]") {
  const auto failures_of = [](const std::string& name,
                              const std::string& more = "") {
    const Tested tested = test_plugin_file(faulty(name), more);
    CHECK(tested.exit_code == 1);
    CHECK(tested.report.at("passes") == false);
    return tested.failures();
  };
  CHECK_THAT(failures_of("wrong_gradient"),
             Catch::Contains("\"prime sizes\" f32: gradients differ from the "
                             "reference in fp64: expected at most"));
  CHECK_THAT(failures_of("writes_outside"),
             Catch::Contains("a write behind a tensor of"));
  CHECK_THAT(failures_of("crashes"),
             Catch::Contains("no crash, no hang: expected an end of its own") &&
                 Catch::Contains("in cases, \"prime sizes\" f32"));
  CHECK_THAT(failures_of("hangs", "--timeout 3"),
             Catch::Contains("no end within 3 s"));
  CHECK_THAT(failures_of("unrepeatable"),
             Catch::Contains("a second forward gives other bits"));
  CHECK_THAT(failures_of("refuses_silently"),
             Catch::Contains("refuses without saying why"));
  CHECK_THAT(failures_of("refuses_all"),
             Catch::Contains("refuses every case of f32, which it says it "
                             "takes: no shape suits"));
}

TEST_CASE("plugin test fails a plugin that does not load", "[unit]") {
  const std::string folder = TITAN_TEST_PLUGIN_DIR;
  const Tested major = test_plugin_file(folder + "/libnewer_major.so");
  CHECK(major.exit_code == 1);
  CHECK_THAT(major.failures(), Catch::Contains("loads: "));
  const Tested crashing = test_plugin_file(folder + "/libcrashing.so");
  CHECK(crashing.exit_code == 1);
  CHECK_THAT(crashing.failures(), Catch::Contains("ended a trial process"));
  CHECK(run_captured({"plugin", "test", "/not/there.so"}).exit_code ==
        kExitUserError);
}

TEST_CASE("plugin test does not call a kind without checks passed", "[unit]") {
  const CapturedRun run =
      run_captured({"plugin",
                    "test",
                    std::string(TITAN_TEST_PLUGIN_DIR) + "/libgood.so",
                    "--json"});
  CHECK(run.exit_code == 0);
  const auto checks = nlohmann::json::parse(run.out).at("checks");
  REQUIRE(checks.size() == 2);
  CHECK(checks.at(1).at("component") == "test.good.planner");
  CHECK(checks.at(1).at("outcome") == "not run");
  CHECK(checks.at(1).at("detail") == "no checks of this kind yet");
}

TEST_CASE("plugin test --in-process and --junit", "[unit]") {
  const std::string junit = "plugin_trial_test.xml";
  const CapturedRun run = run_captured({"plugin",
                                        "test",
                                        faulty("wrong_gradient"),
                                        "--in-process",
                                        "--junit",
                                        junit});
  CHECK(run.exit_code == kExitDifferent);
  CHECK_THAT(run.out,
             Catch::Contains("2 failed") && Catch::Contains("--seed 7"));
  const std::string xml = text_of(junit);
  CHECK_THAT(xml,
             Catch::Contains("failures=\"2\"") &&
                 Catch::Contains("<failure message=\"&#34;prime sizes&#34;"));
  std::filesystem::remove(junit);
  CHECK_THAT(run_captured({"plugin",
                           "test",
                           faulty("sound"),
                           "--in-process",
                           "--component",
                           "test.soun"})
                 .err,
             Catch::Contains("got \"test.soun\""));
}

}  // namespace titan::cli
