// SPDX-License-Identifier: BSD-3-Clause
// The log: what a person running a job reads while it runs. Lines go to
// stderr; stdout belongs to results and --json. A facade, because spdlog's fmt
// and LibTorch's fmt cannot meet in one translation unit: only log.cpp knows
// spdlog. Ranks may be threads, so the rank belongs to the thread.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

namespace titan::log {

enum class Level { kDebug, kInfo, kWarn, kError, kOff };

/// Writes one line. Thread-safe. Rank 0 speaks; on other ranks debug and info
/// are dropped and the rest carries "[rank r]". Never throws.
void debug(std::string_view message);
void info(std::string_view message);
void warn(std::string_view message);
void error(std::string_view message);
void write(Level level, std::string_view message);

/// Writes the message the first time this process sees `key`, then never
/// again. Use it for "you asked for X and got Y" in a path that repeats.
void once(std::string_view key, Level level, std::string_view message);

/// Forgets all keys of `once`: a new run in one process, and tests.
void forget_once();

/// Drops lines below `level`; the default is kInfo.
void set_level(Level level);
Level level();

/// "debug", "info", "warn", "error" or "off"; nullopt for anything else.
std::optional<Level> parse_level(std::string_view name);

/// Names the rank of the calling thread.
void set_rank(int rank);

/// Names the rank of every thread that has not called `set_rank`: 0 at start,
/// the process's rank where each rank is a process.
void set_process_rank(int rank);
int rank();

/// True if stderr is a terminal, where `progress` shows and colours are used.
bool is_terminal();

/// Replaces the one status line at the bottom of a terminal; every log line
/// goes above it and an empty text removes it. Does nothing where stderr is a
/// file or pipe, so that logs hold whole lines only, and on ranks but 0.
void progress(std::string_view line);

/// The part of `line` that fits into one row of `num_columns` (0: unknown, all
/// of it): a wrapped status line could not be erased again.
std::string_view fit_row(std::string_view line, int num_columns);

/// Receives lines instead of stderr, already filtered; empty restores stderr.
/// Called under a lock: it must not log.
using Sink = std::function<void(Level, std::string_view)>;
void set_sink(Sink sink);

}  // namespace titan::log
