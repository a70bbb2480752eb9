// SPDX-License-Identifier: BSD-3-Clause
#include "core/observe/log.h"

#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <unistd.h>

#include "tests/unit/core/observe/captured_log.h"
#include "tests/unit/core/observe/scratch_folder.h"

namespace titan {

using test::CapturedLog;

TEST_CASE("rank 0 speaks and other ranks only warn", "[unit]") {
  CapturedLog captured;
  log::info("from rank 0");
  std::thread other([] {
    log::set_rank(3);
    log::info("dropped");
    log::warn("kept");
  });
  other.join();
  CHECK(captured.lines ==
        std::vector<std::string>{"from rank 0", "[rank 3] kept"});
}

TEST_CASE("threads without a rank take that of the process", "[unit]") {
  CapturedLog captured;
  log::set_process_rank(2);
  int seen_rank = -1;
  std::thread loader([&] {
    seen_rank = log::rank();
    log::info("dropped");
  });
  loader.join();
  log::set_process_rank(0);
  CHECK(seen_rank == 2);
  CHECK(captured.lines.empty());
}

TEST_CASE("lines below the level are dropped", "[unit]") {
  CapturedLog captured;
  log::debug("too quiet");
  log::set_level(log::Level::kDebug);
  log::debug("heard");
  log::set_level(log::Level::kOff);
  log::error("nothing is heard");
  log::set_level(log::Level::kInfo);
  CHECK(captured.lines == std::vector<std::string>{"heard"});
}

TEST_CASE("once says a thing once per key", "[unit]") {
  CapturedLog captured;
  for (int i = 0; i < 3; ++i) {
    log::once("key a", log::Level::kWarn, "a");
    log::once("key b", log::Level::kWarn, "b");
  }
  CHECK(captured.lines == std::vector<std::string>{"a", "b"});
}

TEST_CASE("a line that a rank drops does not use up its once key", "[unit]") {
  CapturedLog captured;
  std::thread other([] {
    log::set_rank(1);
    log::once("key", log::Level::kInfo, "said");
  });
  other.join();
  log::once("key", log::Level::kInfo, "said");
  CHECK(captured.lines == std::vector<std::string>{"said"});
}

TEST_CASE("level names are read back and others refused", "[unit]") {
  CHECK(log::parse_level("warn") == log::Level::kWarn);
  CHECK(log::parse_level("off") == log::Level::kOff);
  CHECK(!log::parse_level("verbose"));
}

TEST_CASE("a status line wider than the terminal is cut to one row", "[unit]") {
  CHECK(log::fit_row("step 100/800", 9) == "step 100");
  CHECK(log::fit_row("step 1", 80) == "step 1");
  CHECK(log::fit_row("step 1", 0) == "step 1");
}

TEST_CASE("logs go to stderr as plain whole lines when it is a file",
          "[unit]") {
  const titan::test::ScratchFolder folder;
  const auto path = folder.write("stderr.txt", "");
  const int saved = dup(STDERR_FILENO);
  const int file = open(path.c_str(), O_WRONLY | O_APPEND);
  dup2(file, STDERR_FILENO);
  log::info("hello");
  if (!log::is_terminal()) log::progress("half a line");
  log::warn("there {}");
  dup2(saved, STDERR_FILENO);
  close(file);
  close(saved);

  const std::string written = folder.read("stderr.txt");
  CHECK_THAT(written, Catch::Contains("info    hello\n"));
  CHECK_THAT(written, Catch::Contains("there {}\n"));
  CHECK_THAT(written, !Catch::Contains("half a line"));
}

}  // namespace titan
