// SPDX-License-Identifier: BSD-3-Clause
// Initial values of parameters: element k of a parameter is a function of
// (seed, FQN, k), whatever shard it lies in. Each rank computes its part only.
#pragma once

#include <cstdint>
#include <span>

#include "core/module/tree.h"

namespace titan::module {

/// Values of the elements `first .. first + out.size()` of the row-major whole
/// tensor. Normal numbers by Box-Muller in double, cut ones by rejection with a
/// bounded redraw keyed by the attempt, so that they too are index-only.
void initial_values(const Parameter& parameter,
                    uint64_t seed,
                    int64_t first,
                    std::span<double> out);

}  // namespace titan::module
