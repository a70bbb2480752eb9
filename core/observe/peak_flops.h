// SPDX-License-Identifier: BSD-3-Clause
// The denominator of MFU: datasheet numbers for GPUs, a measurement for CPUs
// (their clocks under AVX-512 and AMX are in no datasheet).
#pragma once

#include <functional>
#include <optional>
#include <string_view>

namespace titan {

/// Dense bf16 FLOP/s of a GPU by its device name, in any case. Nullopt for an
/// unknown one and for a MIG slice: MFU is then left out, never computed
/// against another card.
std::optional<double> gpu_peak_flops_per_second(std::string_view device_name);

/// Measures a peak: runs `multiply` (one large product of `flops` FLOPs in the
/// training dtype, on all threads) repeatedly for about `budget_seconds` and
/// returns the FLOP/s of the fastest run after the first.
double measure_peak_flops_per_second(const std::function<void()>& multiply,
                                     double flops,
                                     double budget_seconds = 0.5);

}  // namespace titan
