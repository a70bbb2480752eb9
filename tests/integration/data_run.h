// SPDX-License-Identifier: BSD-3-Clause
// Runs of 40 steps in three parts, whatever the data.
#pragma once

#include <cstddef>
#include <vector>

#include "tests/integration/tiny_run.h"

namespace titan::integration {

/// Settings of data with state of all kinds: documents that are cut, open rows,
/// shuffled blocks, several epochs, two sources.
std::vector<Settings> unlike_data();

/// 40 steps of four microbatches on each of two ranks are 13 + 13 + 14 of them,
/// each part a process: losses, parameters, optimizer and data position.
/// Returns the steps that were compared.
std::size_t check_resumes_bit_identically(const Settings& data);

/// 13 steps on one rank, 13 on two, 14 on four see what 40 on one do: the data
/// position is the same, the losses but for the order of sums (in float64).
/// Returns the steps that were compared.
std::size_t check_ranks_in_turn(const Settings& data);

}  // namespace titan::integration
