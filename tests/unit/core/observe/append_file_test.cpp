// SPDX-License-Identifier: BSD-3-Clause
#include "core/observe/append_file.h"

#include <string>

#include <catch2/catch.hpp>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <titan/error.h>

#include "tests/unit/core/observe/scratch_folder.h"

using titan::AppendFile;

TEST_CASE("records are appended to what the file held", "[unit]") {
  const titan::test::ScratchFolder folder;
  const auto path = folder.write("a/b.txt", "one\n");
  AppendFile(path).append("two\n");
  CHECK(folder.read("a/b.txt") == "one\ntwo\n");
}

TEST_CASE("a record that does not fit leaves no torn line", "[unit]") {
  const titan::test::ScratchFolder folder;
  const auto path = folder.path() / "log.txt";
  // A child, since the size limit of a process cannot be undone everywhere.
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {10, 10};
    setrlimit(RLIMIT_FSIZE, &limit);
    AppendFile file(path);
    file.append("1234\n");
    try {
      file.append("too long for it\n");
      _exit(1);
    } catch (const titan::DeviceError&) {
      file.append("56\n");
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(folder.read("log.txt") == "1234\n56\n");
}

TEST_CASE("replacing a file leaves its new content and no temporary",
          "[unit]") {
  const titan::test::ScratchFolder folder;
  const auto path = folder.write("x", "old, and longer");
  titan::replace_file(path, "new");
  CHECK(folder.read("x") == "new");
  CHECK(!std::filesystem::exists(folder.path() / "x.tmp"));
}
