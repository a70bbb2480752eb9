// SPDX-License-Identifier: BSD-3-Clause
// How long this process has been there: what a person waits before training
// begins, loading of libraries included, which no clock of our own sees.
#pragma once

#include <optional>
#include <string_view>

namespace titan {

/// Seconds since the kernel started this process, in steps of its clock tick
/// (10 ms). Nullopt where /proc does not say.
std::optional<double> seconds_since_process_start();

/// Clock ticks after boot at which the process of a /proc/PID/stat line
/// started: field 22. Nullopt for a line that has none.
std::optional<long long> parse_start_ticks(std::string_view stat_line);

}  // namespace titan
