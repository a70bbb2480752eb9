// SPDX-License-Identifier: BSD-3-Clause
// Registers the kernels of ops that take rows or elements one by one, for CPUs
// with AVX-512.
#include <titan/sdk/plugin.hpp>

#include "plugins/kernels/activation/activation_cpu.h"
#include "plugins/kernels/causal_conv1d/causal_conv1d_cpu.h"
#include "plugins/kernels/layer_norm/layer_norm_cpu.h"
#include "plugins/kernels/rms_norm/rms_norm_cpu.h"
#include "plugins/kernels/rope/rope_cpu.h"
#include "plugins/kernels/swiglu/swiglu_cpu.h"

namespace {

constexpr titan::KernelMatch match(uint32_t flags) {
  return {.cpu_features = TITAN_CPU_AVX2 | TITAN_CPU_FMA | TITAN_CPU_AVX512F |
                          TITAN_CPU_AVX512BW | TITAN_CPU_AVX512VL |
                          TITAN_CPU_AVX512DQ,
          .dtypes = titan::dtypes(titan::Dtype::kF32, titan::Dtype::kBF16),
          .flags = flags};
}

constexpr uint32_t kPerRow =
    TITAN_KERNEL_DETERMINISTIC | TITAN_KERNEL_BATCH_INVARIANT;

}  // namespace

TITAN_PLUGIN(
    {.name = "titan.kernels_cpu_avx512_rows",
     .version = "0.1.0",
     .vendor = "Titan",
     .licence = "BSD-3-Clause"},
    titan::kernel<titan::kernels::ActivationCpu>(
        "titan.activation_cpu_avx512",
        "titan.activation/1",
        match(kPerRow),
        "activations, gated or not, fp32 and bf16"),
    titan::kernel<titan::kernels::CausalConv1dCpu>(
        "titan.causal_conv1d_cpu_avx512",
        "titan.causal_conv1d/1",
        match(TITAN_KERNEL_DETERMINISTIC),
        "depthwise convolution over tokens, fp32 and bf16"),
    titan::kernel<titan::kernels::LayerNormCpu>("titan.layer_norm_cpu_avx512",
                                                "titan.layer_norm/1",
                                                match(kPerRow),
                                                "layer norm, fp32 and bf16"),
    titan::kernel<titan::kernels::RmsNormCpu>("titan.rms_norm_cpu_avx512",
                                              "titan.rms_norm/1",
                                              match(kPerRow),
                                              "RMS norm, fp32 and bf16"),
    titan::kernel<titan::kernels::RopeComplexCpu>(
        "titan.rope_complex_cpu_avx512",
        "titan.rope_complex/1",
        match(kPerRow),
        "rotary positions of adjacent dims, fp32 and bf16"),
    titan::kernel<titan::kernels::RopeCosSinCpu>(
        "titan.rope_cos_sin_cpu_avx512",
        "titan.rope_cos_sin/1",
        match(kPerRow),
        "rotary positions of half heads, fp32 and bf16"),
    titan::kernel<titan::kernels::SwigluCpu>("titan.swiglu_cpu_avx512",
                                             "titan.swiglu/1",
                                             match(kPerRow),
                                             "silu(gate) * up, fp32 and bf16"))
