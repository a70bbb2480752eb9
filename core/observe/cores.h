// SPDX-License-Identifier: BSD-3-Clause
// How many cores and how much memory are really ours: affinity masks and
// control groups (containers, Slurm) give less than the machine has. Reading a
// fake tree below `root` is how the tests cover machines that we lack.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace titan {

struct CoreFacts {
  int num_online = 0;    ///< of the machine
  int num_allowed = 0;   ///< by this process's affinity mask
  int num_physical = 0;  ///< distinct cores among the allowed (no SMT twins)
  std::optional<double> cgroup_cpus;  ///< CPU time limit, in CPUs

  /// Threads that can run at once: allowed, at most the limit rounded up; >= 1.
  int num_usable() const;

  /// Threads to compute with: one per physical core, within the same limit.
  int num_compute_threads() const;
};

CoreFacts read_core_facts(const std::filesystem::path& root = "/");

struct MemoryFacts {
  int64_t total_bytes = 0;      ///< of the machine, or of the control group
  int64_t available_bytes = 0;  ///< without swapping
  bool is_cgroup_limited = false;
};

MemoryFacts read_memory_facts(const std::filesystem::path& root = "/");

}  // namespace titan
