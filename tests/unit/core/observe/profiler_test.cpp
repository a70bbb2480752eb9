// SPDX-License-Identifier: BSD-3-Clause
#include "core/observe/profiler.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/observe/spans.h"
#include "tests/unit/core/observe/captured_log.h"
#include "tests/unit/core/observe/scratch_folder.h"

using titan::Profiler;

namespace {

void run_step(Profiler& profiler, int64_t step) {
  profiler.begin_step(step);
  { const titan::Span span("step"); }
  profiler.end_step(step);
}

std::vector<int64_t> recorded_steps(const std::string& trace_text) {
  const auto trace = nlohmann::json::parse(trace_text);
  std::vector<int64_t> steps;
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") == "X") steps.push_back(event.at("args").at("step"));
  }
  return steps;
}

}  // namespace

TEST_CASE("the profiler records just its window of steps", "[unit]") {
  titan::test::CapturedLog captured;
  const titan::test::ScratchFolder folder;
  Profiler profiler({3, 2, folder.path() / "profile"});
  for (int64_t step = 1; step <= 6; ++step) run_step(profiler, step);
  CHECK(recorded_steps(folder.read("profile/trace.json")) ==
        std::vector<int64_t>{3, 4});
  CHECK_THAT(profiler.table(), Catch::Contains("step         2"));
  CHECK(!titan::spans_enabled());
  CHECK(std::filesystem::exists(folder.path() / "profile/spans.jsonl"));
}

TEST_CASE("a window that the run's end cuts short is still written", "[unit]") {
  titan::test::CapturedLog captured;
  const titan::test::ScratchFolder folder;
  {
    Profiler profiler({1, 100, folder.path()});
    run_step(profiler, 1);
  }
  CHECK(recorded_steps(folder.read("trace.json")) == std::vector<int64_t>{1});
}

TEST_CASE("a run resumed inside the window records the rest of it", "[unit]") {
  titan::test::CapturedLog captured;
  const titan::test::ScratchFolder folder;
  Profiler profiler({3, 3, folder.path()});
  for (int64_t step = 5; step <= 7; ++step) run_step(profiler, step);
  CHECK(recorded_steps(folder.read("trace.json")) == std::vector<int64_t>{5});
}

TEST_CASE("a trace that cannot be written warns and training goes on",
          "[unit]") {
  titan::test::CapturedLog captured;
  const titan::test::ScratchFolder folder;
  folder.write("file", "");
  Profiler profiler({1, 1, folder.path() / "file"});
  run_step(profiler, 1);
  REQUIRE(captured.lines.size() == 1);
  CHECK_THAT(captured.lines[0],
             Catch::StartsWith("[profiler] the trace was not written"));
}

TEST_CASE("a profiler without steps never records", "[unit]") {
  const titan::test::ScratchFolder folder;
  Profiler profiler({0, 0, folder.path()});
  run_step(profiler, 0);
  CHECK(!profiler.is_recording());
  CHECK(std::filesystem::is_empty(folder.path()));
}
