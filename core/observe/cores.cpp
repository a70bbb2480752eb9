// SPDX-License-Identifier: BSD-3-Clause
// Control groups: a limit may stand on any ancestor of our group, so all are
// read and the tightest holds. Version 2: cpu.max "QUOTA PERIOD",
// memory.max, memory.current; version 1: cpu.cfs_quota_us, cpu.cfs_period_us,
// memory.limit_in_bytes, memory.usage_in_bytes. See cgroups(7).
#include "core/observe/cores.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sched.h>
#include <unistd.h>  // sysconf

#include <titan/text.h>

#include "core/observe/text_file.h"

namespace titan {
namespace {

using Path = std::filesystem::path;

std::optional<int64_t> parse_number(std::string_view words) {
  int64_t number = 0;
  const auto end = words.data() + words.size();
  const auto result = std::from_chars(words.data(), end, number);
  if (result.ec != std::errc()) return std::nullopt;  // "max", or no file
  return number;
}

std::optional<int64_t> read_number(const Path& path) {
  return parse_number(read_first_line(path));
}

// The folders of our group and its ancestors, innermost first, for one
// controller; version 2 has the empty controller name.
std::vector<Path> group_folders(const Path& root, std::string_view controller) {
  std::vector<Path> folders;
  const std::string text_of_groups =
      read_text_file(root / "proc/self/cgroup").value_or("");
  for (std::string_view line : split_lines(text_of_groups)) {
    // "ID:controller,controller:/path"
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const auto names = line.substr(first + 1, second - first - 1);
    const bool is_ours =
        controller.empty()
            ? names.empty()
            : text(',', names, ',').find(text(',', controller, ',')) !=
                  std::string::npos;
    if (!is_ours) continue;
    const Path mount = controller.empty() ? root / "sys/fs/cgroup"
                                          : root / "sys/fs/cgroup" / controller;
    Path group = Path(line.substr(second + 1)).relative_path();
    // Inside a container the path may be that of the host and not exist here;
    // the mount itself then is our group, and it is always the last one read.
    for (; !group.empty(); group = group.parent_path()) {
      folders.push_back(mount / group);
    }
    folders.push_back(mount);
  }
  return folders;
}

void keep_smaller(std::optional<double>& smallest, double value) {
  smallest = smallest ? std::min(*smallest, value) : value;
}

std::optional<double> read_cgroup_cpus(const Path& root) {
  std::optional<double> cpus;
  for (const Path& folder : group_folders(root, "")) {
    const std::string line = read_first_line(folder / "cpu.max");
    const auto quota = parse_number(line);
    const size_t space = line.find(' ');
    if (!quota || space == std::string::npos) continue;
    const auto period = parse_number(std::string_view(line).substr(space + 1));
    if (!period || *period <= 0) continue;
    keep_smaller(cpus,
                 static_cast<double>(*quota) / static_cast<double>(*period));
  }
  for (const Path& folder : group_folders(root, "cpu")) {
    const auto quota = read_number(folder / "cpu.cfs_quota_us");
    const auto period = read_number(folder / "cpu.cfs_period_us");
    if (!quota || *quota <= 0 || !period || *period <= 0) continue;
    keep_smaller(cpus,
                 static_cast<double>(*quota) / static_cast<double>(*period));
  }
  return cpus;
}

std::vector<int> allowed_cpus() {
  // CPU_SETSIZE is 1024; larger machines need a dynamic set.
  constexpr int kMaxCpus = 8192;
  cpu_set_t* const mask = CPU_ALLOC(kMaxCpus);
  const size_t size = CPU_ALLOC_SIZE(kMaxCpus);
  CPU_ZERO_S(size, mask);
  std::vector<int> cpus;
  if (sched_getaffinity(0, size, mask) == 0) {
    for (int cpu = 0; cpu < kMaxCpus; ++cpu) {
      if (CPU_ISSET_S(cpu, size, mask)) cpus.push_back(cpu);
    }
  }
  CPU_FREE(mask);
  return cpus;
}

int count_physical_cores(const Path& root, const std::vector<int>& cpus) {
  std::set<std::pair<int64_t, int64_t>> cores;
  for (const int cpu : cpus) {
    const Path topology =
        root / text("sys/devices/system/cpu/cpu", cpu, "/topology");
    const auto package = read_number(topology / "physical_package_id");
    const auto core = read_number(topology / "core_id");
    // Without topology each CPU counts as a core of its own.
    if (package && core) {
      cores.emplace(*package, *core);
    } else {
      cores.emplace(-1, cpu);
    }
  }
  return static_cast<int>(cores.size());
}

int within_limit(int count, const std::optional<double>& cgroup_cpus) {
  if (cgroup_cpus) {
    count = std::min(count, static_cast<int>(std::ceil(*cgroup_cpus)));
  }
  return std::max(count, 1);
}

int64_t meminfo_bytes(std::string_view meminfo, std::string_view key) {
  for (std::string_view line : split_lines(meminfo)) {
    if (!line.starts_with(key)) continue;
    const size_t digits = line.find_first_of("0123456789");
    if (digits == std::string_view::npos) return 0;
    return parse_number(line.substr(digits)).value_or(0) * 1024;
  }
  return 0;
}

void apply_memory_limit(MemoryFacts& facts,
                        const std::optional<int64_t>& limit_bytes,
                        const std::optional<int64_t>& used_bytes) {
  // Version 1 writes "no limit" as a number near 2^63.
  if (!limit_bytes || *limit_bytes >= facts.total_bytes) return;
  facts.is_cgroup_limited = true;
  facts.total_bytes = *limit_bytes;
  const int64_t left_bytes =
      std::max<int64_t>(*limit_bytes - used_bytes.value_or(0), 0);
  facts.available_bytes = std::min(facts.available_bytes, left_bytes);
}

}  // namespace

int CoreFacts::num_usable() const {
  return within_limit(num_allowed, cgroup_cpus);
}

int CoreFacts::num_compute_threads() const {
  return within_limit(num_physical, cgroup_cpus);
}

CoreFacts read_core_facts(const Path& root) {
  CoreFacts facts;
  const std::vector<int> cpus = allowed_cpus();
  facts.num_online = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  facts.num_allowed = static_cast<int>(cpus.size());
  facts.num_physical = count_physical_cores(root, cpus);
  facts.cgroup_cpus = read_cgroup_cpus(root);
  return facts;
}

MemoryFacts read_memory_facts(const Path& root) {
  const std::string meminfo =
      read_text_file(root / "proc/meminfo").value_or("");
  MemoryFacts facts;
  facts.total_bytes = meminfo_bytes(meminfo, "MemTotal:");
  facts.available_bytes = meminfo_bytes(meminfo, "MemAvailable:");
  for (const Path& folder : group_folders(root, "")) {
    apply_memory_limit(facts,
                       read_number(folder / "memory.max"),
                       read_number(folder / "memory.current"));
  }
  for (const Path& folder : group_folders(root, "memory")) {
    apply_memory_limit(facts,
                       read_number(folder / "memory.limit_in_bytes"),
                       read_number(folder / "memory.usage_in_bytes"));
  }
  return facts;
}

}  // namespace titan
