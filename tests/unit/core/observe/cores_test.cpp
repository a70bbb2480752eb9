// SPDX-License-Identifier: BSD-3-Clause
#include "core/observe/cores.h"

#include <thread>

#include <catch2/catch.hpp>
#include <sched.h>

#include "tests/unit/core/observe/scratch_folder.h"

using titan::read_core_facts;
using titan::read_memory_facts;
using titan::test::ScratchFolder;

TEST_CASE("this machine has cores and memory for us", "[unit]") {
  const auto cores = read_core_facts();
  CHECK(cores.num_usable() >= 1);
  CHECK(cores.num_usable() <= cores.num_allowed);
  CHECK(cores.num_physical <= cores.num_allowed);
  CHECK(cores.num_compute_threads() >= 1);
  const auto memory = read_memory_facts();
  CHECK(memory.available_bytes > 0);
  CHECK(memory.available_bytes <= memory.total_bytes);
}

TEST_CASE("a thread pinned to one CPU sees one core", "[unit]") {
  titan::CoreFacts cores;
  std::thread pinned([&] {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET(sched_getcpu(), &mask);
    if (sched_setaffinity(0, sizeof(mask), &mask) == 0) {
      cores = read_core_facts();
    }
  });
  pinned.join();
  CHECK(cores.num_allowed == 1);
  CHECK(cores.num_usable() == 1);
}

TEST_CASE("the tightest CPU limit of all ancestors holds", "[unit]") {
  const ScratchFolder root;
  root.write("proc/self/cgroup", "0::/job/step/task\n");
  root.write("sys/fs/cgroup/job/cpu.max", "150000 100000\n");
  root.write("sys/fs/cgroup/job/step/cpu.max", "max 100000\n");
  root.write("sys/fs/cgroup/job/step/task/cpu.max", "400000 100000\n");
  CHECK(read_core_facts(root.path()).cgroup_cpus == 1.5);
}

TEST_CASE("a container's own limit is found at the mount", "[unit]") {
  const ScratchFolder root;
  root.write("proc/self/cgroup", "0::/path/of/the/host\n");
  root.write("sys/fs/cgroup/cpu.max", "50000 100000\n");
  const auto cores = read_core_facts(root.path());
  CHECK(cores.cgroup_cpus == 0.5);
  CHECK(cores.num_usable() == 1);
}

TEST_CASE("limits of control groups version 1 are read too", "[unit]") {
  const ScratchFolder root;
  root.write("proc/self/cgroup",
             "5:cpuacct,cpu:/docker/a\n4:memory:/docker/a\n");
  root.write("sys/fs/cgroup/cpu/docker/a/cpu.cfs_quota_us", "200000\n");
  root.write("sys/fs/cgroup/cpu/docker/a/cpu.cfs_period_us", "100000\n");
  root.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  root.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  root.write("proc/meminfo", "MemTotal: 8000 kB\nMemAvailable: 6000 kB\n");
  root.write("sys/fs/cgroup/memory/docker/a/memory.limit_in_bytes",
             "4096000\n");
  root.write("sys/fs/cgroup/memory/docker/a/memory.usage_in_bytes",
             "1000000\n");
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes",
             "9223372036854771712\n");
  CHECK(read_core_facts(root.path()).cgroup_cpus == 2.0);
  const auto memory = read_memory_facts(root.path());
  CHECK(memory.is_cgroup_limited);
  CHECK(memory.total_bytes == 4096000);
  CHECK(memory.available_bytes == 3096000);
}

TEST_CASE("no limit leaves the machine's memory and no CPU limit", "[unit]") {
  const ScratchFolder root;
  root.write("proc/self/cgroup", "0::/\n");
  root.write("sys/fs/cgroup/memory.max", "max\n");
  root.write("proc/meminfo", "MemTotal: 8000 kB\nMemAvailable: 6000 kB\n");
  const auto memory = read_memory_facts(root.path());
  CHECK(!memory.is_cgroup_limited);
  CHECK(memory.total_bytes == 8000 * 1024);
  CHECK(memory.available_bytes == 6000 * 1024);
  CHECK(!read_core_facts(root.path()).cgroup_cpus);
}

TEST_CASE("twins of one core count once", "[unit]") {
  const ScratchFolder root;
  const auto here = read_core_facts();
  for (int cpu = 0; cpu < 8192 && cpu < 4 * here.num_online; ++cpu) {
    const std::string topology =
        "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    root.write(topology + "physical_package_id", "0\n");
    root.write(topology + "core_id", "7\n");
  }
  CHECK(read_core_facts(root.path()).num_physical == 1);
}
