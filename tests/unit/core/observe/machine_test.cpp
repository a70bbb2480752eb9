// SPDX-License-Identifier: BSD-3-Clause
#include "core/observe/machine.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/observe/machine_checks.h"

using titan::MachineCheck;
using titan::MachineFacts;

namespace {

// A machine on which every check passes.
MachineFacts healthy_machine() {
  MachineFacts facts;
  facts.cpu_model = "Some CPU";
  facts.cpu_features.avx2 = true;
  facts.cores.num_online = 8;
  facts.cores.num_allowed = 8;
  facts.cores.num_physical = 4;
  facts.memory.total_bytes = int64_t{16} << 30;
  facts.memory.available_bytes = int64_t{12} << 30;
  facts.cpu_governor = "performance";
  facts.transparent_huge_pages = "madvise";
  facts.folder = "runs";
  facts.disk_free_bytes = int64_t{100} << 30;
  facts.gpus.why_none = "no NVIDIA driver (libcuda.so.1 is not installed)";
  facts.environment = {{"OMP_NUM_THREADS", "4"}, {"OMP_WAIT_POLICY", "active"}};
  return facts;
}

// The names of the checks that warn.
std::vector<std::string> warnings(const MachineFacts& facts) {
  std::vector<std::string> names;
  for (const MachineCheck& check : titan::check_machine(facts)) {
    if (!check.has_passed) names.push_back(check.name);
    CHECK(check.fix.empty() == check.has_passed);
  }
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("facts of this machine are filled in", "[unit]") {
  const MachineFacts facts = titan::read_machine_facts(".");
  CHECK(!facts.cpu_model.empty());
  CHECK(facts.cores.num_usable() >= 1);
  CHECK(facts.disk_free_bytes > 0);
  CHECK_THAT(facts.glibc_version, Catch::StartsWith("2."));
  CHECK_THAT(facts.libstdcxx_file, Catch::Contains("libstdc++.so.6"));
  CHECK(facts.gpus.gpus.empty() == !facts.gpus.why_none.empty());

  const auto json = nlohmann::json::parse(titan::machine_json(facts));
  CHECK(json.at("cores").at("usable") == facts.cores.num_usable());
  CHECK(json.at("gpus").size() == facts.gpus.gpus.size());
  CHECK_THAT(titan::machine_table(facts), Catch::Contains(facts.cpu_model));
}

TEST_CASE("a healthy machine passes every check", "[unit]") {
  const auto checks = titan::check_machine(healthy_machine());
  CHECK(warnings(healthy_machine()).empty());
  CHECK_THAT(titan::check_lines(checks),
             Catch::StartsWith("PASS disk: 100.0 GiB free in runs\n"
                               "PASS memory: 12.0 GiB available\n"));
}

TEST_CASE("each thing wrong warns by its own name with a fix", "[unit]") {
  MachineFacts facts = healthy_machine();
  SECTION("a full disk") {
    facts.disk_free_bytes = int64_t{4} << 30;
    CHECK(warnings(facts) == Names{"disk"});
    CHECK_THAT(titan::check_lines(titan::check_machine(facts)),
               Catch::StartsWith("WARN disk: 4.0 GiB free in runs. Free 5 GiB, "
                                 "or set checkpoint.folder to a larger "
                                 "disk.\n"));
  }
  SECTION("little memory") {
    facts.memory.available_bytes = int64_t{1} << 30;
    CHECK(warnings(facts) == Names{"memory"});
  }
  SECTION("an old CPU") {
    facts.cpu_features = {};
    CHECK(warnings(facts) == Names{"instructions"});
  }
  SECTION("more threads than cores") {
    facts.environment[0].second = "9";
    CHECK(warnings(facts) == Names{"threads"});
  }
  SECTION("a thread count that is no number") {
    facts.environment[0].second = "many";
    CHECK(warnings(facts) == Names{"threads"});
  }
  SECTION("a limit that OpenMP does not see, and threads that spin") {
    facts.environment.erase(facts.environment.begin());
    facts.cores.cgroup_cpus = 2;
    CHECK(warnings(facts) == Names{"threads", "OMP_WAIT_POLICY"});
  }
  SECTION("threads that sleep between small ops") {
    facts.environment.pop_back();
    CHECK(warnings(facts) == Names{"OMP_WAIT_POLICY"});
  }
  SECTION("a governor that saves power") {
    facts.cpu_governor = "powersave";
    CHECK(warnings(facts) == Names{"governor"});
  }
  SECTION("no huge pages") {
    facts.transparent_huge_pages = "never";
    CHECK(warnings(facts) == Names{"huge pages"});
  }
  SECTION("a driver that does not start") {
    facts.gpus.driver_cuda_version = 13000;
    CHECK(warnings(facts) == Names{"gpu"});
  }
}

TEST_CASE("bytes are printed in the unit that fits", "[unit]") {
  CHECK(titan::format_bytes(812 << 20) == "812 MiB");
  CHECK(titan::format_bytes(int64_t{1} << 30) == "1.0 GiB");
}
