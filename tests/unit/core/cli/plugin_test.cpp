// SPDX-License-Identifier: BSD-3-Clause
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/cli/libtorch_facts.h"
#include "tests/unit/core/cli/captured_run.h"

using titan::cli::CapturedRun;
using titan::cli::run_captured;

namespace {

std::string test_plugin(const std::string& name) {
  return std::string(TITAN_TEST_PLUGIN_DIR) + "/lib" + name + ".so";
}

nlohmann::json inspect(const std::string& file, int expected_code) {
  const CapturedRun printed =
      run_captured({"plugin", "inspect", file, "--json"});
  CHECK(printed.exit_code == expected_code);
  return nlohmann::json::parse(printed.out);
}

}  // namespace

TEST_CASE("plugin inspect tells a usable plugin by exit code 0", "[unit]") {
  const auto json = inspect(test_plugin("good"), 0);
  CHECK(json.at("verdict") == "ok");
  CHECK(json.at("name") == "test.good");
  CHECK(json.at("mode") == "static");
  CHECK(json.at("sha256").get<std::string>().size() == 64);
  CHECK(json.at("components").at(0).at("id") == "test.good.planner");
  CHECK_THAT(run_captured({"plugin", "inspect", test_plugin("good")}).out,
             Catch::Contains("verdict     usable here"));
}

TEST_CASE("plugin inspect gives every reason and exit code 2", "[unit]") {
  const auto json = inspect(test_plugin("relative_rpath"), 2);
  CHECK(json.at("verdict") == "unusable");
  CHECK(json.at("diagnostics").at(0).at("code") == 205);
  CHECK(json.at("diagnostics").at(0).at("name") == "HARDENING");
  CHECK(inspect("/not/there.so", 2).at("diagnostics").at(0).at("code") == 101);
  CHECK(inspect(TITAN_SOURCE_DIR, 2).at("diagnostics").at(0).at("code") == 107);
}

TEST_CASE("plugin inspect says which LibTorch a function came with", "[unit]") {
  const bool has_it = titan::cli::libtorch_version() >= "2.14";
  const auto json = inspect(test_plugin("too_new_shim"), has_it ? 0 : 2);
  if (has_it) return;  // then there is nothing to refuse
  const std::string text = json.at("diagnostics").at(0).at("text");
  CHECK_THAT(text,
             Catch::Contains("expected LibTorch >= 2.14.0 (it uses "
                             "torch_has_storage), got 2.1"));
}

TEST_CASE("plugin inspect runs the entry only when asked", "[unit]") {
  CHECK(inspect(test_plugin("crashing"), 0).at("verdict") == "ok");
  const CapturedRun probed = run_captured(
      {"plugin", "inspect", test_plugin("crashing"), "--probe", "--json"});
  CHECK(probed.exit_code == 2);
  const auto json = nlohmann::json::parse(probed.out);
  CHECK(json.at("mode") == "probed");
  CHECK(json.at("diagnostics").at(0).at("name") == "PROBE_CRASH");
}

TEST_CASE("plugin list marks what failed, with its reason", "[unit]") {
  const CapturedRun printed = run_captured(
      {"plugin", "list", "--all", "--json", "--search", TITAN_TEST_PLUGIN_DIR});
  CHECK(printed.exit_code == 0);
  const auto json = nlohmann::json::parse(printed.out);
  int num_seen = 0;
  for (const auto& plugin : json.at("plugins")) {
    if (plugin.at("path") != test_plugin("newer_major")) continue;
    ++num_seen;
    CHECK(plugin.at("state") == "failed");
    CHECK(plugin.at("code") == 301);
    CHECK(plugin.at("found_by") == "plugins.search");
  }
  CHECK(num_seen == 1);
  CHECK_THAT(run_captured({"plugin", "list", "-v"}).out,
             Catch::Contains("searched, first to last:"));
}
