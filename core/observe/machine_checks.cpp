// SPDX-License-Identifier: BSD-3-Clause
// One function per check, listed once in `check_machine`.
#include "core/observe/machine_checks.h"

#include <charconv>
#include <string_view>

#include <titan/text.h>

namespace titan {
namespace {

constexpr int64_t kGibibyte = int64_t{1} << 30;

// The smallest checkpoint plus logs of the recipes in configs/ fit in this.
constexpr int64_t kLeastDiskBytes = 5 * kGibibyte;
// LibTorch's libraries alone map 0.5 GiB; the debug recipes need the rest.
constexpr int64_t kLeastMemoryBytes = 2 * kGibibyte;

std::string_view variable(const MachineFacts& facts, std::string_view name) {
  for (const auto& [known, value] : facts.environment) {
    if (known == name) return value;
  }
  return "";
}

MachineCheck check_disk(const MachineFacts& facts) {
  return {"disk",
          facts.disk_free_bytes >= kLeastDiskBytes,
          text(format_bytes(facts.disk_free_bytes), " free in ", facts.folder),
          "Free 5 GiB, or set checkpoint.folder to a larger disk"};
}

MachineCheck check_memory(const MachineFacts& facts) {
  return {"memory",
          facts.memory.available_bytes >= kLeastMemoryBytes,
          text(format_bytes(facts.memory.available_bytes), " available"),
          "Close other programs, raise the container's limit, or lower "
          "training.tokens_per_microbatch"};
}

MachineCheck check_instructions(const MachineFacts& facts) {
  const bool has_avx2 = facts.cpu_features.avx2;
  return {"instructions",
          has_avx2,
          has_avx2 ? describe(facts.cpu_features) : "no AVX2",
          "Kernels for this CPU do not exist: the reference runs, slowly. In a "
          "virtual machine pass the host's CPU through"};
}

MachineCheck check_wait_policy(const MachineFacts& facts) {
  const std::string_view policy = variable(facts, "OMP_WAIT_POLICY");
  const bool is_active = policy == "active" || policy == "ACTIVE";
  MachineCheck check;
  check.name = "OMP_WAIT_POLICY";
  check.found = policy.empty() ? "not set" : std::string(policy);
  // Spinning threads starve each other once they outnumber the cores.
  const bool is_shared = facts.cores.num_usable() < facts.cores.num_allowed;
  if (is_active && is_shared) {
    check.has_passed = false;
    check.fix =
        "Threads that spin waste the control group's CPU time: unset it";
  } else if (!is_active && !is_shared && facts.cores.num_usable() > 1) {
    check.has_passed = false;
    check.fix =
        "Set OMP_WAIT_POLICY=active where no other program needs the cores: "
        "small ops run up to 8 times faster";
  }
  return check;
}

MachineCheck check_thread_count(const MachineFacts& facts) {
  const std::string_view setting = variable(facts, "OMP_NUM_THREADS");
  int num_threads = 0;
  std::from_chars(setting.data(), setting.data() + setting.size(), num_threads);
  const int num_usable = facts.cores.num_usable();
  MachineCheck check;
  check.name = "threads";
  if (setting.empty()) {
    check.found = text("OMP_NUM_THREADS is not set, ", num_usable, " usable");
    // OpenMP sees the affinity mask but not the control group's limit.
    check.has_passed = facts.cores.num_allowed <= num_usable;
  } else {
    check.found =
        text("OMP_NUM_THREADS=", setting, ", ", num_usable, " usable");
    check.has_passed = num_threads > 0 && num_threads <= num_usable;
  }
  check.fix = text("Set OMP_NUM_THREADS=", facts.cores.num_compute_threads());
  return check;
}

MachineCheck check_governor(const MachineFacts& facts) {
  const std::string& governor = facts.cpu_governor;
  return {"governor",
          governor != "powersave" && governor != "conservative",
          governor.empty() ? "not reported" : governor,
          "Measurements will vary: `cpupower frequency-set -g performance`"};
}

MachineCheck check_huge_pages(const MachineFacts& facts) {
  const std::string& pages = facts.transparent_huge_pages;
  return {"huge pages",
          pages != "never",
          pages.empty() ? "not reported" : pages,
          "Fresh memory is slow with 4 KiB pages: write madvise to "
          "/sys/kernel/mm/transparent_hugepage/enabled"};
}

MachineCheck check_gpus(const MachineFacts& facts) {
  const size_t count = facts.gpus.gpus.size();
  if (count > 0) return {"gpu", true, text(count, " found"), ""};
  // A driver that is there and does not work is a fault; no driver is not.
  const bool has_driver = facts.gpus.driver_cuda_version > 0;
  return {"gpu",
          !has_driver,
          facts.gpus.why_none,
          "Look at `nvidia-smi`; in a container start it with GPUs"};
}

}  // namespace

std::vector<MachineCheck> check_machine(const MachineFacts& facts) {
  std::vector<MachineCheck> checks = {check_disk(facts),
                                      check_memory(facts),
                                      check_instructions(facts),
                                      check_thread_count(facts),
                                      check_wait_policy(facts),
                                      check_governor(facts),
                                      check_huge_pages(facts),
                                      check_gpus(facts)};
  for (MachineCheck& check : checks) {
    if (check.has_passed) check.fix.clear();
  }
  return checks;
}

std::string check_lines(const std::vector<MachineCheck>& checks) {
  std::string out;
  for (const MachineCheck& check : checks) {
    out += text(
        check.has_passed ? "PASS " : "WARN ", check.name, ": ", check.found);
    if (!check.has_passed) out += text(". ", check.fix, '.');
    out.push_back('\n');
  }
  return out;
}

}  // namespace titan
