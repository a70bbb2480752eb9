// SPDX-License-Identifier: BSD-3-Clause
// CPUID leaves 1 and 7, checked against XCR0. The one file with #ifdef inside
// functions. Bits: Intel SDM volume 2A (CPUID) and volume 1, 13.3 (XCR0).
#include "core/observe/cpu_features.h"

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace titan {
namespace {

#if defined(__x86_64__)
constexpr uint64_t kYmmState = 0x6;       // SSE + AVX
constexpr uint64_t kZmmState = 0xe6;      // + opmask, ZMM high, high 16 ZMM
constexpr uint64_t kTileState = 0x60000;  // tile configuration + data

bool bit(uint32_t word, int index) {
  return ((word >> index) & 1) != 0;
}

uint64_t read_xcr0() {
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}
#endif

}  // namespace

CpuFeatures detect_cpu_features() {
  CpuFeatures out;
#if defined(__x86_64__)
  uint32_t a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return out;
  const bool has_fma = bit(c, 12);
  const bool has_xgetbv = bit(c, 27);  // OSXSAVE
  if (!has_xgetbv) return out;
  const uint64_t saved = read_xcr0();
  const bool has_ymm = (saved & kYmmState) == kYmmState;
  const bool has_zmm = (saved & kZmmState) == kZmmState;
  const bool has_tiles = (saved & kTileState) == kTileState;

  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return out;
  out.avx2 = has_ymm && has_fma && bit(b, 5);
  out.avx512f = has_zmm && bit(b, 16);
  out.avx512dq = has_zmm && bit(b, 17);
  out.avx512bw = has_zmm && bit(b, 30);
  out.avx512vl = has_zmm && bit(b, 31);
  const bool has_tile_unit = has_tiles && bit(d, 24);
  out.amx_bf16 = has_tile_unit && bit(d, 22);
  out.amx_int8 = has_tile_unit && bit(d, 25);
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d) != 0) {
    out.avx512_bf16 = has_zmm && bit(a, 5);
  }
#endif
  return out;
}

std::string describe(const CpuFeatures& features) {
  const struct {
    bool is_present;
    const char* name;
  } kAll[] = {
      {features.avx2, "avx2"},
      {features.avx512f, "avx512f"},
      {features.avx512bw, "avx512bw"},
      {features.avx512vl, "avx512vl"},
      {features.avx512dq, "avx512dq"},
      {features.avx512_bf16, "avx512_bf16"},
      {features.amx_bf16, "amx_bf16"},
      {features.amx_int8, "amx_int8"},
  };
  std::string out;
  for (const auto& feature : kAll) {
    if (!feature.is_present) continue;
    if (!out.empty()) out.push_back(' ');
    out.append(feature.name);
  }
  return out;
}

bool request_amx_tiles() {
#if defined(__x86_64__)
  const CpuFeatures features = detect_cpu_features();
  if (!features.amx_bf16 && !features.amx_int8) return false;
  constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr int kTileData = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

}  // namespace titan
