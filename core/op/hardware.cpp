// SPDX-License-Identifier: BSD-3-Clause
// CPU features as a kernel may use them: CPUID and what the OS saves (XGETBV).
// AMX tiles also need a permission that Linux gives on request.
#include <sys/syscall.h>
#include <unistd.h>  // syscall

#include "core/op/select.h"

namespace titan::op {
namespace {

bool may_use_amx_tiles() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

uint64_t detect_cpu_features() {
  // __builtin_cpu_supports looks at XGETBV for AVX state itself.
  __builtin_cpu_init();
  uint64_t features = 0;
  const auto add = [&features](int is_there, uint64_t feature) {
    if (is_there) features |= feature;
  };
  add(__builtin_cpu_supports("avx2"), TITAN_CPU_AVX2);
  add(__builtin_cpu_supports("fma"), TITAN_CPU_FMA);
  add(__builtin_cpu_supports("avx512f"), TITAN_CPU_AVX512F);
  add(__builtin_cpu_supports("avx512bw"), TITAN_CPU_AVX512BW);
  add(__builtin_cpu_supports("avx512vl"), TITAN_CPU_AVX512VL);
  add(__builtin_cpu_supports("avx512dq"), TITAN_CPU_AVX512DQ);
  add(__builtin_cpu_supports("avx512bf16"), TITAN_CPU_AVX512_BF16);
  unsigned a = 7, b = 0, c = 0, d = 0;
  __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  const bool has_tiles = d >> 24 & 1;
  if (has_tiles && may_use_amx_tiles()) {
    features |= TITAN_CPU_AMX_TILE;
    add(d >> 22 & 1, TITAN_CPU_AMX_BF16);
    add(d >> 25 & 1, TITAN_CPU_AMX_INT8);
  }
  return features;
}

}  // namespace

const Hardware& Hardware::current() {
  static const Hardware hardware{detect_cpu_features(), 0};
  return hardware;
}

}  // namespace titan::op
