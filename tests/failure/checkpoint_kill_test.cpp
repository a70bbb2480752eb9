// SPDX-License-Identifier: BSD-3-Clause
// A process that saves without pause is killed at random moments; whatever it
// had reported as saved must load, whole. The power-loss tests of
// checkpoint_writer_test.cpp stop at every operation; this one stops between
// and inside the real system calls.
#include <algorithm>
#include <chrono>
#include <random>

#include <catch2/catch.hpp>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <titan/error.h>

#include "core/checkpoint/checkpoint_folder.h"
#include "tests/unit/core/checkpoint/saved_step.h"
#include "tests/unit/core/checkpoint/temporary_folder.h"

using namespace titan::checkpoint;

namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kNumKills = 20;
constexpr std::size_t kNumValues = 30'000;  // 240 kB a tensor

// Saves from `first` on, reports each finished save through the pipe.
[[noreturn]] void save_for_ever(const fs::path& folder,
                                std::int64_t first,
                                int keep,
                                int pipe) {
  try {
    for (std::int64_t step = first;; ++step) {
      save_step(real_file_system(), folder, step, kNumValues);
      if (::write(pipe, &step, sizeof(step)) != sizeof(step)) ::_exit(3);
      prune_checkpoints(real_file_system(), folder, {keep});
    }
  } catch (...) {
    ::_exit(2);
  }
}

// Reads reports until the writer is gone or the deadline is reached. Returns
// the last one, or `last`.
std::int64_t read_reports(int pipe,
                          std::int64_t last,
                          Clock::time_point deadline) {
  for (;;) {
    const auto rest = std::chrono::duration_cast<std::chrono::microseconds>(
        deadline - Clock::now());
    if (rest.count() <= 0) return last;
    const timespec timeout = {rest.count() / 1'000'000,
                              rest.count() % 1'000'000 * 1000};
    pollfd ready = {pipe, POLLIN, 0};
    if (::ppoll(&ready, 1, &timeout, nullptr) <= 0) continue;
    if (::read(pipe, &last, sizeof(last)) != sizeof(last)) return last;
  }
}

struct KilledRun {
  std::int64_t last_reported = 0;
  bool was_killed = false;
};

KilledRun run_and_kill(const fs::path& folder,
                       std::int64_t first,
                       int keep,
                       std::chrono::microseconds lifetime) {
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::close(pipe[0]);
    save_for_ever(folder, first, keep, pipe[1]);
  }
  ::close(pipe[1]);
  const std::int64_t reported =
      read_reports(pipe[0], 0, Clock::now() + lifetime);
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  KilledRun run;
  run.was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  run.last_reported =
      read_reports(pipe[0], reported, Clock::now() + std::chrono::hours(1));
  ::close(pipe[0]);
  return run;
}

std::chrono::microseconds duration_of_a_save() {
  TemporaryFolder folder(fs::temp_directory_path());
  const auto begin = Clock::now();
  save_step(real_file_system(), folder.path(), 1, kNumValues);
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() -
                                                               begin);
}

// What kills have left: shows whether they hit saves or the gaps between.
int count_hidden(const fs::path& folder) {
  int count = 0;
  for (const FolderEntry& entry : real_file_system().list(folder))
    count += entry.name.starts_with('.');
  return count;
}

}  // namespace

TEST_CASE("a kill at any moment leaves the last finished save loadable",
          "[failure]") {
  const unsigned seed = std::random_device()();
  WARN("seed " << seed);
  std::mt19937 random(seed);
  // Up to sixteen saves long, so that kills fall on saves, replacements,
  // prunes.
  const auto longest = 16 * duration_of_a_save().count() + 1;
  TemporaryFolder folder(fs::temp_directory_path());
  std::int64_t newest = 1;
  int num_hits = 0;
  save_step(real_file_system(), folder.path(), newest, kNumValues);
  for (int round = 0; round < kNumKills; ++round) {
    INFO("seed " << seed << " round " << round);
    const int keep = 1 + round % 2;
    const std::chrono::microseconds lifetime(
        static_cast<std::int64_t>(random()) % longest);
    // The first save of a round replaces the newest checkpoint.
    const KilledRun run = run_and_kill(folder.path(), newest, keep, lifetime);
    REQUIRE(run.was_killed);
    num_hits += count_hidden(folder.path()) > 0;
    const LatestCheckpoint latest = latest_checkpoint(
        real_file_system(), folder.path(), Verification::kChecksums);
    REQUIRE(latest.reader.has_value());
    CHECK(latest.rejected.empty());
    CHECK(latest.reader->step() >= std::max(newest, run.last_reported));
    newest = latest.reader->step();
    CHECK(holds_step(*latest.reader, newest, kNumValues));
  }
  WARN(kNumKills << " kills, " << num_hits << " inside a save or prune, step "
                 << newest);
  save_step(real_file_system(), folder.path(), newest + 1, kNumValues);
  CHECK(count_hidden(folder.path()) == 0);
}
