// SPDX-License-Identifier: BSD-3-Clause
// Gathers the facts; how each is found is in cores.cpp, cpu_features.cpp and
// gpu_facts.cpp where it takes more than a line.
#include "core/observe/machine.h"

#include <cstdlib>
#include <exception>
#include <string_view>
#include <system_error>

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <sys/utsname.h>

#include <titan/text.h>

#include "core/observe/text_file.h"

namespace titan {
namespace {

constexpr const char* kWatchedVariables[] = {
    "OMP_NUM_THREADS",
    "OMP_WAIT_POLICY",
    "OMP_PROC_BIND",
    "OMP_PLACES",
    "GOMP_CPU_AFFINITY",
    "GOMP_SPINCOUNT",
    "MKL_NUM_THREADS",
    "ONEDNN_MAX_CPU_ISA",
    "ATEN_CPU_CAPABILITY",
    "CUDA_VISIBLE_DEVICES",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "NCCL_DEBUG",
    "NCCL_SOCKET_IFNAME",
    "TITAN_LIBTORCH",
    "TITAN_FORCE_KERNEL",
    "MALLOC_ARENA_MAX",
};

std::string read_cpu_model() {
  const std::string text_of_cpus = read_text_file("/proc/cpuinfo").value_or("");
  for (std::string_view line : split_lines(text_of_cpus)) {
    if (!line.starts_with("model name")) continue;
    const size_t colon = line.find(": ");
    if (colon != std::string_view::npos) {
      return std::string(line.substr(colon + 2));
    }
  }
  return "unknown";
}

// "always [madvise] never": the bracketed word is in force.
std::string read_huge_pages() {
  const std::string line =
      read_first_line("/sys/kernel/mm/transparent_hugepage/enabled");
  const size_t open = line.find('[');
  const size_t close = line.find(']');
  if (open == std::string::npos || close == std::string::npos) return "";
  return line.substr(open + 1, close - open - 1);
}

// The real file behind libstdc++.so.6: its last number is the version, and a
// wrong one in front of the search path is a classic trouble with wheels.
std::string find_libstdcxx_file() {
  Dl_info info = {};
  const auto symbol = reinterpret_cast<const void*>(&std::set_terminate);
  if (dladdr(symbol, &info) == 0 || info.dli_fname == nullptr) return "";
  std::error_code unresolved;
  const auto file = std::filesystem::canonical(info.dli_fname, unresolved);
  return unresolved ? info.dli_fname : file.string();
}

int64_t read_disk_free(std::filesystem::path folder) {
  std::error_code unknown;
  folder = std::filesystem::absolute(folder, unknown);
  while (!std::filesystem::exists(folder, unknown) &&
         folder != folder.root_path()) {
    folder = folder.parent_path();
  }
  const auto space = std::filesystem::space(folder, unknown);
  return unknown ? 0 : static_cast<int64_t>(space.available);
}

}  // namespace

MachineFacts read_machine_facts(const std::filesystem::path& folder) {
  MachineFacts facts;
  utsname system = {};
  uname(&system);
  facts.host = system.nodename;
  facts.kernel = text(system.sysname, ' ', system.release);
  facts.cpu_model = read_cpu_model();
  facts.cpu_features = detect_cpu_features();
  facts.cores = read_core_facts();
  facts.memory = read_memory_facts();
  facts.cpu_governor =
      read_first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  facts.transparent_huge_pages = read_huge_pages();
  facts.glibc_version = gnu_get_libc_version();
  facts.libstdcxx_file = find_libstdcxx_file();
  facts.folder = folder.string();
  facts.disk_free_bytes = read_disk_free(folder);
  facts.gpus = probe_nvidia_gpus();
  for (const char* name : kWatchedVariables) {
    if (const char* value = std::getenv(name)) {
      facts.environment.emplace_back(name, value);
    }
  }
  return facts;
}

}  // namespace titan
