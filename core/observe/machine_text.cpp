// SPDX-License-Identifier: BSD-3-Clause
// The machine's facts for people (a table) and for programs (JSON).
#include <algorithm>
#include <cstdio>

#include <nlohmann/json.hpp>

#include <titan/text.h>

#include "core/observe/machine.h"
#include "core/observe/peak_flops.h"

namespace titan {
namespace {

std::string core_text(const CoreFacts& cores) {
  std::string out = text(cores.num_usable(),
                         " usable (",
                         cores.num_online,
                         " online, ",
                         cores.num_allowed,
                         " allowed, ",
                         cores.num_physical,
                         " physical");
  if (cores.cgroup_cpus) {
    out += text(", cgroup limit ", *cores.cgroup_cpus);
  }
  return out + ")";
}

std::string gpu_text(const GpuFacts& gpu) {
  std::string out = text(gpu.name,
                         ", ",
                         format_bytes(gpu.memory_bytes),
                         ", sm_",
                         gpu.capability_major,
                         gpu.capability_minor);
  const auto peak = gpu_peak_flops_per_second(gpu.name);
  return out + (peak ? text(", bf16 peak ", *peak / 1e12, " TFLOP/s")
                     : std::string(", bf16 peak unknown (no MFU)"));
}

std::string or_unknown(const std::string& value) {
  return value.empty() ? "unknown" : value;
}

FactRows rows_of(const MachineFacts& facts) {
  const std::string features = describe(facts.cpu_features);
  FactRows rows = {
      {"host", text(facts.host, ", ", facts.kernel)},
      {"cpu", facts.cpu_model},
      {"instructions", features.empty() ? "baseline only" : features},
      {"cores", core_text(facts.cores)},
      {"memory",
       text(format_bytes(facts.memory.available_bytes),
            " available of ",
            format_bytes(facts.memory.total_bytes),
            facts.memory.is_cgroup_limited ? " (cgroup limit)" : "")},
      {"governor", or_unknown(facts.cpu_governor)},
      {"huge pages", or_unknown(facts.transparent_huge_pages)},
      {"glibc", facts.glibc_version},
      {"libstdc++", facts.libstdcxx_file},
      {"disk",
       text(format_bytes(facts.disk_free_bytes), " free in ", facts.folder)},
  };
  for (const GpuFacts& gpu : facts.gpus.gpus) {
    rows.emplace_back("gpu", gpu_text(gpu));
  }
  if (facts.gpus.gpus.empty()) {
    rows.emplace_back("gpu", "none: " + facts.gpus.why_none);
  }
  for (const auto& [name, value] : facts.environment) {
    rows.emplace_back(name, value);
  }
  return rows;
}

nlohmann::ordered_json gpus_json(const GpuProbe& probe) {
  auto gpus = nlohmann::ordered_json::array();
  for (const GpuFacts& gpu : probe.gpus) {
    gpus.push_back(
        {{"name", gpu.name},
         {"memory_bytes", gpu.memory_bytes},
         {"capability", {gpu.capability_major, gpu.capability_minor}}});
  }
  return gpus;
}

}  // namespace

std::string format_bytes(int64_t bytes) {
  constexpr double kMebibyte = 1024.0 * 1024.0;
  const double mebibytes = static_cast<double>(bytes) / kMebibyte;
  char out[32];
  if (mebibytes < 1024) {
    std::snprintf(out, sizeof(out), "%.0f MiB", mebibytes);
  } else {
    std::snprintf(out, sizeof(out), "%.1f GiB", mebibytes / 1024);
  }
  return out;
}

std::string machine_table(const MachineFacts& facts, const FactRows& more) {
  FactRows rows = rows_of(facts);
  rows.insert(rows.end(), more.begin(), more.end());
  size_t width = 0;
  for (const auto& row : rows) width = std::max(width, row.first.size());
  std::string out;
  for (const auto& [name, value] : rows) {
    out.append(name).append(width + 2 - name.size(), ' ');
    out.append(value).push_back('\n');
  }
  return out;
}

std::string machine_json(const MachineFacts& facts) {
  nlohmann::ordered_json out;
  out["host"] = facts.host;
  out["kernel"] = facts.kernel;
  out["cpu_model"] = facts.cpu_model;
  out["cpu_features"] = describe(facts.cpu_features);
  out["cores"] = {{"online", facts.cores.num_online},
                  {"allowed", facts.cores.num_allowed},
                  {"physical", facts.cores.num_physical},
                  {"usable", facts.cores.num_usable()}};
  if (facts.cores.cgroup_cpus) {
    out["cores"]["cgroup_cpus"] = *facts.cores.cgroup_cpus;
  }
  out["memory"] = {{"total_bytes", facts.memory.total_bytes},
                   {"available_bytes", facts.memory.available_bytes},
                   {"is_cgroup_limited", facts.memory.is_cgroup_limited}};
  out["cpu_governor"] = facts.cpu_governor;
  out["transparent_huge_pages"] = facts.transparent_huge_pages;
  out["glibc"] = facts.glibc_version;
  out["libstdcxx"] = facts.libstdcxx_file;
  out["folder"] = facts.folder;
  out["disk_free_bytes"] = facts.disk_free_bytes;
  out["driver_cuda_version"] = facts.gpus.driver_cuda_version;
  out["gpus"] = gpus_json(facts.gpus);
  out["environment"] = nlohmann::ordered_json::object();
  for (const auto& [name, value] : facts.environment) {
    out["environment"][name] = value;
  }
  return out.dump(
      -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace titan
