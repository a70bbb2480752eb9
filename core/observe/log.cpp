// SPDX-License-Identifier: BSD-3-Clause
// The only file that includes spdlog. One mutex covers the sink and the status
// line: a log line must first erase the status line and then redraw it, which
// spdlog's own sinks cannot do.
#include "core/observe/log.h"

#include <atomic>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include <spdlog/logger.h>
#include <spdlog/sinks/ansicolor_sink.h>
#include <sys/ioctl.h>  // TIOCGWINSZ
#include <unistd.h>     // isatty, STDERR_FILENO

namespace titan::log {
namespace {

constexpr int kRankOfProcess = -1;
constexpr const char* kEraseLine = "\r\x1b[2K";

std::atomic<Level> current_level{Level::kInfo};
std::atomic<int> process_rank{0};
thread_local int thread_rank = kRankOfProcess;

struct State {
  std::mutex mutex;
  Sink sink;
  std::string status_line;
  std::set<std::string, std::less<>> seen_keys;
  spdlog::logger logger;

  State();
};

// Never destroyed: threads may log while the process exits.
State& state() {
  static State* const instance = new State;
  return *instance;
}

State::State()
    : logger("titan",
             std::make_shared<spdlog::sinks::ansicolor_stderr_sink_st>()) {
  logger.set_level(spdlog::level::debug);
  logger.flush_on(spdlog::level::debug);
  logger.set_pattern(is_terminal() ? "%H:%M:%S %^%-7l%$ %v"
                                   : "%Y-%m-%dT%H:%M:%S.%e%z %-7l %v");
  // A full disk or closed pipe must not stop training; there is no better
  // place to report it than the one that just broke.
  logger.set_error_handler([](const std::string&) {});
}

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarn:
      return spdlog::level::warn;
    default:
      return spdlog::level::err;
  }
}

bool speaks(Level level) {
  if (level < current_level.load(std::memory_order_relaxed)) return false;
  return rank() == 0 || level >= Level::kWarn;
}

int num_terminal_columns() {
  winsize size = {};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void draw_status(const State& at) {
  std::fwrite(at.status_line.data(), 1, at.status_line.size(), stderr);
  std::fflush(stderr);
}

void write_to_stderr(State& at, Level level, const std::string& line) {
  const bool has_status = !at.status_line.empty();
  if (has_status) std::fputs(kEraseLine, stderr);
  at.logger.log(to_spdlog(level), line);
  if (has_status) draw_status(at);
}

}  // namespace

void write(Level level, std::string_view message) try {
  if (level == Level::kOff || !speaks(level)) return;
  std::string line;
  if (rank() != 0) line = "[rank " + std::to_string(rank()) + "] ";
  line.append(message);
  State& at = state();
  const std::lock_guard lock(at.mutex);
  if (at.sink) {
    at.sink(level, line);
  } else {
    write_to_stderr(at, level, line);
  }
} catch (...) {
  // Losing a line is the only answer left: a logger that throws would turn a
  // warning into a stopped run.
}

void debug(std::string_view message) {
  write(Level::kDebug, message);
}
void info(std::string_view message) {
  write(Level::kInfo, message);
}
void warn(std::string_view message) {
  write(Level::kWarn, message);
}
void error(std::string_view message) {
  write(Level::kError, message);
}

void once(std::string_view key, Level level, std::string_view message) {
  // A line that this rank or level drops does not use up the key: another
  // rank of the same process may still have to say it.
  if (!speaks(level)) return;
  {
    State& at = state();
    const std::lock_guard lock(at.mutex);
    if (!at.seen_keys.emplace(key).second) return;
  }
  write(level, message);
}

void forget_once() {
  State& at = state();
  const std::lock_guard lock(at.mutex);
  at.seen_keys.clear();
}

void set_level(Level level) {
  current_level.store(level);
}
Level level() {
  return current_level.load();
}

std::optional<Level> parse_level(std::string_view name) {
  constexpr std::pair<std::string_view, Level> kNames[] = {
      {"debug", Level::kDebug},
      {"info", Level::kInfo},
      {"warn", Level::kWarn},
      {"error", Level::kError},
      {"off", Level::kOff}};
  for (const auto& [known, level] : kNames) {
    if (known == name) return level;
  }
  return std::nullopt;
}

void set_rank(int rank) {
  thread_rank = rank;
}
void set_process_rank(int rank) {
  process_rank.store(rank);
}

int rank() {
  return thread_rank == kRankOfProcess
             ? process_rank.load(std::memory_order_relaxed)
             : thread_rank;
}

bool is_terminal() {
  static const bool answer = isatty(STDERR_FILENO) == 1;
  return answer;
}

void progress(std::string_view line) {
  if (!is_terminal() || rank() != 0) return;
  State& at = state();
  const std::lock_guard lock(at.mutex);
  if (at.sink) return;  // whoever took the lines has no terminal to draw on
  std::fputs(kEraseLine, stderr);
  at.status_line.assign(fit_row(line, num_terminal_columns()));
  draw_status(at);
}

std::string_view fit_row(std::string_view line, int num_columns) {
  // One column stays free: some terminals wrap when the last one is filled.
  if (num_columns <= 1) return line;
  return line.substr(0, static_cast<size_t>(num_columns - 1));
}

void set_sink(Sink sink) {
  State& at = state();
  const std::lock_guard lock(at.mutex);
  at.sink = std::move(sink);
}

}  // namespace titan::log
