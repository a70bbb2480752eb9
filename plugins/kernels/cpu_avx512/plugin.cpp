// SPDX-License-Identifier: BSD-3-Clause
// Registers the kernels for CPUs with AVX-512.
#include <titan/sdk/plugin.hpp>

#include "plugins/kernels/attention/attention_cpu.h"

namespace {

constexpr titan::KernelMatch kMatch = {
    .cpu_features = TITAN_CPU_AVX2 | TITAN_CPU_FMA | TITAN_CPU_AVX512F |
                    TITAN_CPU_AVX512BW | TITAN_CPU_AVX512VL |
                    TITAN_CPU_AVX512DQ,
    .dtypes = titan::dtypes(titan::Dtype::kF32, titan::Dtype::kBF16),
    .flags = TITAN_KERNEL_DETERMINISTIC};

}  // namespace

TITAN_PLUGIN({.name = "titan.kernels_cpu_avx512",
              .version = "0.1.0",
              .vendor = "Titan",
              .licence = "BSD-3-Clause"},
             titan::kernel<titan::kernels::AttentionCpu>(
                 "titan.attention_cpu_avx512",
                 "titan.attention/1",
                 kMatch,
                 "blockwise softmax attention, fp32 and bf16"))
