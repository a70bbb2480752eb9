// SPDX-License-Identifier: BSD-3-Clause
// What this CPU can run, as the operating system allows it: CPUID alone lies
// where the kernel does not save the wide registers (XGETBV tells).
#pragma once

#include <string>

namespace titan {

struct CpuFeatures {
  bool avx2 = false;  ///< with FMA, as every AVX2 kernel assumes both
  bool avx512f = false;
  bool avx512bw = false;
  bool avx512vl = false;
  bool avx512dq = false;
  bool avx512_bf16 = false;
  bool amx_bf16 = false;
  bool amx_int8 = false;
};

/// All false on other than x86-64.
CpuFeatures detect_cpu_features();

/// "avx2 avx512f ... amx_int8": the names of those that are there.
std::string describe(const CpuFeatures& features);

/// Asks Linux for the AMX tile registers (8 KiB per thread, so it wants to be
/// asked). Needed once per process before the first tile instruction; threads
/// started later inherit it. False where AMX cannot be used.
bool request_amx_tiles();

}  // namespace titan
