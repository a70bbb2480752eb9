// SPDX-License-Identifier: BSD-3-Clause
#include "core/plugin/trust.h"

#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/core/plugin/test_plugins.h"

namespace titan::plugin::testing {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kNobody = 65534;

Code refusal(const std::string& path) {
  return catch_user_error([&] { read_plugin(path, Trust::kRequired); }).code;
}

}  // namespace

TEST_CASE("trust reads a file of ours below a sticky folder", "[unit]") {
  const TemporaryFolder folder;
  const std::string path = folder.copy("good", "libgood.so");
  const PluginBytes file = read_plugin(path, Trust::kRequired);
  CHECK(file.bytes.size() == fs::file_size(path));
  CHECK_FALSE(distrust_reason(path).has_value());
}

TEST_CASE("trust refuses what others can write", "[unit]") {
  const TemporaryFolder folder;
  const std::string path = folder.copy("good", "sub/libgood.so");
  REQUIRE(::chmod(path.c_str(), 0666) == 0);
  CHECK(refusal(path) == Code::kUntrustedPath);
  CHECK_THAT(distrust_reason(path).value_or(""),
             Catch::Contains("libgood.so: expected not world-writable"));
  // Looking is allowed.
  CHECK_FALSE(read_plugin(path, Trust::kIgnored).bytes.empty());

  REQUIRE(::chmod(path.c_str(), 0644) == 0);
  REQUIRE(::chmod(folder.file("sub").c_str(), 0777) == 0);
  CHECK(refusal(path) == Code::kUntrustedPath);
  CHECK_THAT(distrust_reason(path).value_or(""),
             Catch::Contains("/sub: expected not world-writable"));
}

TEST_CASE("trust follows a link only through folders it trusts", "[unit]") {
  const TemporaryFolder folder;
  const std::string real = folder.copy("good", "real/libgood.so");
  fs::create_directories(folder.file("open"));
  fs::create_symlink("../real/libgood.so", folder.file("open/link.so"));
  fs::create_symlink("open/link.so", folder.file("first.so"));
  CHECK(read_plugin(folder.file("first.so"), Trust::kRequired).real_path ==
        real);
  // The middle hop could be turned elsewhere by anybody.
  REQUIRE(::chmod(folder.file("open").c_str(), 0777) == 0);
  CHECK(refusal(folder.file("first.so")) == Code::kUntrustedPath);

  fs::create_symlink("loop.so", folder.file("loop.so"));
  CHECK(refusal(folder.file("loop.so")) == Code::kNotFound);
}

TEST_CASE("trust tells what is no file from what is not there", "[unit]") {
  const TemporaryFolder folder;
  CHECK(refusal(folder.file("absent.so")) == Code::kNotFound);
  CHECK(refusal(folder.path()) == Code::kNotAFile);
  CHECK(refusal("/dev/null") == Code::kNotAFile);
  CHECK(refusal(folder.write("file", "x") + "/below.so") == Code::kNotFound);
}

TEST_CASE("trust looks at owners", "[unit]") {
  if (::geteuid() != 0) {
    WARN("needs root to give a file away");
    return;
  }
  const TemporaryFolder folder;
  const std::string path = folder.copy("good", "libgood.so");
  REQUIRE(::chown(path.c_str(), kNobody, kNobody) == 0);
  CHECK(refusal(path) == Code::kUntrustedPath);

  // Another user, and no permission to read.
  REQUIRE(::chown(path.c_str(), 0, 0) == 0);
  REQUIRE(::chmod(path.c_str(), 0600) == 0);
  REQUIRE(::chmod(folder.path().c_str(), 0755) == 0);
  REQUIRE(::seteuid(kNobody) == 0);
  const Code code = refusal(path);
  REQUIRE(::seteuid(0) == 0);
  CHECK(code == Code::kUnreadable);
}

}  // namespace titan::plugin::testing
