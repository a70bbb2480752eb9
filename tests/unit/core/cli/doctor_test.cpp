// SPDX-License-Identifier: BSD-3-Clause
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/cli/libtorch_facts.h"
#include "core/cli/run_titan.h"

namespace {

// What `titan <arguments>` prints to stdout; its exit code must be 0.
std::string printed_by(const std::vector<std::string>& arguments) {
  std::ostringstream out, err;
  std::streambuf* const real = std::cout.rdbuf(out.rdbuf());
  const int code = titan::cli::run_titan(arguments, out, err);
  std::cout.rdbuf(real);
  CHECK(code == 0);
  CHECK(err.str().empty());
  return out.str();
}

}  // namespace

TEST_CASE("doctor prints facts and a verdict for each check", "[unit]") {
  const std::string printed = printed_by({"doctor"});
  CHECK_THAT(printed, Catch::Contains("cores"));
  CHECK_THAT(printed, Catch::Contains("libtorch_cpu.so"));
  CHECK_THAT(printed, Catch::Contains(" memory: "));
  CHECK_THAT(printed, Catch::Contains("PASS libtorch: "));
  CHECK_THAT(printed, Catch::Contains(" plugins: "));
}

TEST_CASE("doctor --json prints one object with every check", "[unit]") {
  const auto json = nlohmann::json::parse(
      printed_by({"doctor", "--json", "--folder", "not/there/yet"}));
  CHECK(json.at("libtorch").at("version") == titan::cli::libtorch_version());
  CHECK(json.at("machine").at("disk_free_bytes") > 0);
  CHECK(json.at("checks").size() == 11);
  for (const auto& check : json.at("checks")) {
    CHECK(check.at("fix").get<std::string>().empty() ==
          check.at("passed").get<bool>());
  }
}

TEST_CASE("loaded libraries are found by name and absent ones are not",
          "[unit]") {
  CHECK_THAT(titan::cli::loaded_library_path("libtorch_cpu.so"),
             Catch::EndsWith("libtorch_cpu.so"));
  CHECK(titan::cli::loaded_library_path("libxyzzy.so").empty());
  CHECK(titan::cli::libtorch_version() == titan::cli::libtorch_built_version());
}
