// SPDX-License-Identifier: BSD-3-Clause
// Ctrl-C and SIGTERM: save, leave with the code that launchers expect, and lose
// nothing.
#include <catch2/catch.hpp>
#include <signal.h>

#include "tests/integration/tiny_run.h"

using namespace titan::integration;

namespace fs = std::filesystem;

namespace {

const Settings kLong = {"training.steps=200", "checkpoint.interval=1000"};

// Hidden names are saves that did not end.
int num_hidden(const fs::path& folder) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(folder))
    count += entry.path().filename().string().starts_with('.');
  return count;
}

Finished stop_with(const TinyRun& run,
                   int signal,
                   const Environment& environment = {}) {
  TitanProcess process(run.words(kLong), environment);
  CHECK(process.wait_for_log("step 20/200"));
  process.send(signal);
  return process.finish();
}

}  // namespace

TEST_CASE("SIGINT saves, exits 130, and the resumed run ends in the same bits",
          "[integration]") {
  const TinyRun interrupted, whole;
  const Finished first = stop_with(interrupted, SIGINT);
  INFO(first.err);
  REQUIRE(first.exit_code == 130);
  CHECK(first.out.empty());
  CHECK(num_hidden(interrupted.checkpoints()) == 0);
  const auto saved = steps_in(interrupted.checkpoints());
  REQUIRE(saved.size() == 1);
  REQUIRE(saved.front() >= 20);
  REQUIRE(saved.front() < 200);
  CHECK(step_losses(interrupted.run()).rbegin()->first == saved.front());

  const Finished rest = interrupted.train(kLong);
  const Finished uninterrupted = whole.train(kLong);
  REQUIRE(rest.exit_code == 0);
  REQUIRE(uninterrupted.exit_code == 0);
  CHECK(rest.out == uninterrupted.out);
  CHECK(state_files(interrupted.checkpoint(200)) ==
        state_files(whole.checkpoint(200)));
  CHECK(step_losses(interrupted.run()) == step_losses(whole.run()));
}

TEST_CASE("SIGTERM saves and exits 143", "[integration]") {
  const TinyRun run;
  const Finished stopped = stop_with(run, SIGTERM);
  CHECK(stopped.exit_code == 143);
  CHECK(steps_in(run.checkpoints()).size() == 1);
}

TEST_CASE("SIGTERM under a launcher saves and exits 75, which restarts",
          "[integration]") {
  const TinyRun run;
  const Finished stopped = stop_with(run, SIGTERM, {{"SLURM_JOB_ID", "1"}});
  CHECK(stopped.exit_code == 75);
  CHECK(steps_in(run.checkpoints()).size() == 1);
}

TEST_CASE("a second SIGINT leaves at once, without a half checkpoint",
          "[integration]") {
  // On a busy machine the run can reach the end of its step, and save, between
  // the two signals: then this try shows nothing and the next one is made.
  bool left_at_once = false;
  for (int attempt = 0; attempt < 8 && !left_at_once; ++attempt) {
    const TinyRun run;
    TitanProcess process(
        run.words({"training.steps=100000", "checkpoint.interval=10"}));
    REQUIRE(process.wait_for_log("step 12/"));
    // Blocked in its log it cannot reach the end of the step.
    process.wait_until_blocked();
    const auto before = steps_in(run.checkpoints());
    process.send_and_wait(SIGINT);
    process.send(SIGINT);
    const Finished stopped = process.finish();
    CHECK(stopped.exit_code == 130);
    CHECK(stopped.signal == 0);
    left_at_once = steps_in(run.checkpoints()) == before;
    // The save of step 10 may have been under way in the background: what it
    // leaves is hidden, is no checkpoint, and goes with the next run.
    const Finished rest = run.train({"training.steps=100"});
    CHECK(rest.exit_code == 0);
    CHECK(num_hidden(run.checkpoints()) == 0);
  }
  CHECK(left_at_once);
}

TEST_CASE("a stop without checkpoints says that nothing was saved",
          "[integration]") {
  const TinyRun run;
  TitanProcess process(
      run.words({"training.steps=100000", "checkpoint.enabled=false"}));
  REQUIRE(process.wait_for_log("step 5/"));
  process.send(SIGINT);
  const Finished stopped = process.finish();
  CHECK(stopped.exit_code == 130);
  CHECK(stopped.err.find("nothing was saved") != std::string::npos);
  CHECK_FALSE(fs::exists(run.checkpoints()));
}
