// SPDX-License-Identifier: BSD-3-Clause
// Plugins must not decide how the process ends: libraries that own threads,
// thread-locals and static objects are mapped a hundred times, then the process
// leaves in each way. (Runtimes that unmap their plugins crash here.)
#include <cstdlib>
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>
#include <sys/wait.h>

namespace {

int exit_code_of(const std::string& mode) {
  std::string folder =
      std::filesystem::temp_directory_path() / "titan_leaving_XXXXXX";
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const std::string plugins = TITAN_TEST_PLUGIN_DIR;
  const std::string command = std::string(TITAN_LOAD_AND_EXIT) + ' ' + mode +
                              ' ' + folder + "/probed " + plugins +
                              "/libthreaded.so " + plugins +
                              "/libversion_one.so";
  const int status = std::system(command.c_str());
  std::filesystem::remove_all(folder);
  REQUIRE(WIFEXITED(status));  // not by a signal
  return WEXITSTATUS(status);
}

}  // namespace

// Case PLG-05.
TEST_CASE("the exit code is the work's, whatever plugins are mapped",
          "[failure]") {
  CHECK(exit_code_of("normal") == 0);
  CHECK(exit_code_of("exit") == 3);
  CHECK(exit_code_of("exception") == 70);
  CHECK(exit_code_of("term") == 143);
}
