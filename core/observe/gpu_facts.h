// SPDX-License-Identifier: BSD-3-Clause
// Which NVIDIA GPUs are here, without linking CUDA: the driver's library is
// opened by its soname if the machine has it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace titan {

struct GpuFacts {
  std::string name;
  int64_t memory_bytes = 0;
  int capability_major = 0;
  int capability_minor = 0;
};

struct GpuProbe {
  std::vector<GpuFacts> gpus;
  int driver_cuda_version = 0;  ///< 13000 for CUDA 13.0; 0 without a driver
  std::string why_none;         ///< set where `gpus` is empty
};

/// Initialises the CUDA driver in this process (0.1 to 1 s with a GPU): do not
/// fork and then use CUDA after it.
GpuProbe probe_nvidia_gpus();

}  // namespace titan
