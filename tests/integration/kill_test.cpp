// SPDX-License-Identifier: BSD-3-Clause
// `kill -9` at random moments of a run that saves after every step: whatever
// its log had called saved is what the next start goes on from.
#include <algorithm>
#include <random>

#include <catch2/catch.hpp>
#include <signal.h>

#include "tests/integration/tiny_run.h"

using namespace titan::integration;

namespace {

constexpr int kNumKills = 20;
// About ten saves; a step is far shorter than a save.
constexpr unsigned kLongestMicroseconds = 150'000;

// The number behind the last `mark` of a log; -1 when there is none.
std::int64_t last_number(const std::string& log, const std::string& mark) {
  const size_t found = log.rfind(mark);
  return found == std::string::npos
             ? -1
             : std::stoll(log.substr(found + mark.size()));
}

}  // namespace

TEST_CASE("a kill at any moment loses nothing that was saved",
          "[integration]") {
  const unsigned seed = std::random_device()();
  WARN("seed " << seed);
  std::mt19937 random(seed);
  const TinyRun run(std::filesystem::temp_directory_path());
  const Settings settings = {"training.steps=100000",
                             "schedule.decay=none",
                             "checkpoint.interval=1",
                             "checkpoint.keep=2"};
  std::int64_t saved = 0;
  for (int round = 0; round < kNumKills; ++round) {
    INFO("seed " << seed << " round " << round);
    TitanProcess process(run.words(settings));
    REQUIRE(process.wait_for_log(round % 2 == 0 ? "saved " : "step "));
    process.listen(std::chrono::microseconds(random() % kLongestMicroseconds));
    process.send(SIGKILL);
    const Finished killed = process.finish();
    INFO(killed.err);
    REQUIRE(killed.signal == SIGKILL);
    CHECK(killed.err.find("warn") == std::string::npos);
    if (round > 0) CHECK(last_number(killed.err, " at step ") >= saved);
    saved = std::max(saved, last_number(killed.err, "/checkpoint/step_"));
    REQUIRE(saved > 0);
  }
  const std::int64_t last = saved + 10;
  const Finished rest = run.train({"training.steps=" + std::to_string(last),
                                   "schedule.decay=none",
                                   "checkpoint.keep=2"});
  REQUIRE(rest.exit_code == 0);
  // Every step is in the log once, and each follows the one before it.
  const auto losses = step_losses(run.run());
  CHECK(static_cast<std::int64_t>(losses.size()) == last);
  CHECK(losses.rbegin()->first == last);
  WARN(kNumKills << " kills over " << saved << " saves");
}
