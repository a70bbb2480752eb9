// SPDX-License-Identifier: BSD-3-Clause
// What this process offers a plugin, as far as it decides whether one can run
// here. Gathered once; tests and `titan plan` for other machines fill it by
// hand.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/plugin/manifest.h"

namespace titan::plugin {

struct HostFacts {
  std::uint32_t abi_major = 0;
  std::uint32_t abi_minor = 0;
  TorchVersion torch_version = 0;  ///< 0: no LibTorch in this process
  int cxx11_abi = 1;               ///< _GLIBCXX_USE_CXX11_ABI
  std::string build_id;            ///< of the executable
  /// Loaded library -> the symbol versions it defines ("libc.so.6" ->
  /// {"GLIBC_2.2.5", ...}). A library that is not here is not judged.
  std::map<std::string, std::set<std::string>> versions;
  /// True if the process exports the symbol (a LibTorch shim function).
  std::function<bool(const std::string&)> has_symbol;
  /// TITAN_CPU_... bits; nothing = kernels are not judged by CPU.
  std::optional<std::uint64_t> cpu_features;
  /// Compute capabilities of the GPUs here, as 90; nothing = not judged. Set by
  /// whoever has asked the driver (observe/gpu_facts.h); gathered: empty where
  /// there is no NVIDIA device at all.
  std::optional<std::vector<std::uint32_t>> cuda_archs;
};

/// Asks the system's loader. LibTorch counts if its C shim is in the process.
HostFacts gather_host_facts();

}  // namespace titan::plugin
