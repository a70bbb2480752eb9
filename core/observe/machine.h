// SPDX-License-Identifier: BSD-3-Clause
// Facts of the machine for `titan doctor` and the table at the start of a run:
// most reports of slow or odd runs are answered by one of these lines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/observe/cores.h"
#include "core/observe/cpu_features.h"
#include "core/observe/gpu_facts.h"

namespace titan {

struct MachineFacts {
  std::string host;
  std::string kernel;  ///< "Linux 6.1.0-18-amd64"
  std::string cpu_model;
  CpuFeatures cpu_features;
  CoreFacts cores;
  MemoryFacts memory;
  std::string cpu_governor;            ///< of the first CPU; "" where unknown
  std::string transparent_huge_pages;  ///< always, madvise, never or ""
  std::string glibc_version;
  std::string libstdcxx_file;  ///< the one loaded: "libstdc++.so.6.0.30"
  std::string folder;          ///< whose disk was measured
  int64_t disk_free_bytes = 0;
  GpuProbe gpus;
  /// Variables that change speed or results and are set, by name.
  std::vector<std::pair<std::string, std::string>> environment;
};

/// Reads everything; `folder` is where the run will write (it need not exist
/// yet). Starts the CUDA
/// driver (see `probe_nvidia_gpus`).
MachineFacts read_machine_facts(const std::filesystem::path& folder);

using FactRows = std::vector<std::pair<std::string, std::string>>;

/// The facts as "name  value" lines, aligned, with the caller's rows after.
std::string machine_table(const MachineFacts& facts, const FactRows& more = {});

/// The facts as a JSON object, for --json.
std::string machine_json(const MachineFacts& facts);

/// "812 MiB", "15.6 GiB".
std::string format_bytes(int64_t bytes);

}  // namespace titan
