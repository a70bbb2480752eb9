// SPDX-License-Identifier: BSD-3-Clause
#include "core/checkpoint/storage.h"

#include <catch2/catch.hpp>

#include <titan/error.h>

#include "tests/unit/core/checkpoint/temporary_folder.h"

using namespace titan::checkpoint;
using Catch::Contains;

namespace fs = std::filesystem;

TEST_CASE("real file system writes small and large pieces in order", "[unit]") {
  TemporaryFolder folder;
  const std::string large(3'000'000, 'l');
  const auto file = real_file_system().create(folder.path() / "f");
  file->append(bytes_of("ab"));
  file->append(bytes_of(large));
  file->append(bytes_of("cd"));
  file->sync();
  file->append(bytes_of(""));
  file->append(bytes_of("e"));
  file->close();
  CHECK(get_file(folder.path() / "f") == "ab" + large + "cde");
}

TEST_CASE("errors name the path and who must act", "[unit]") {
  TemporaryFolder folder;
  FileSystem& files = real_file_system();
  CHECK_THROWS_AS(files.create(folder.path() / "no" / "f"), titan::UserError);
  CHECK_THROWS_WITH(files.create(folder.path() / "no" / "f"),
                    Contains("/no/f] create: expected success, got No such"));
  CHECK_THROWS_AS(files.rename(folder.path() / "no", folder.path() / "x"),
                  titan::UserError);
  CHECK_THROWS_AS(files.remove(folder.path() / "no"), titan::UserError);
  put_file(folder.path() / "f", "");
  CHECK_THROWS_AS(files.make_folder(folder.path() / "f"), titan::UserError);
}

TEST_CASE("a full device is a device error", "[unit]") {
  const auto file = real_file_system().create("/dev/full");
  file->append(bytes_of("x"));
  CHECK_THROWS_AS(file->sync(), titan::DeviceError);
  CHECK_THROWS_WITH(file->sync(), Contains("[checkpoint /dev/full] write"));
}

TEST_CASE("listing is sorted, and an absent folder has no entries", "[unit]") {
  TemporaryFolder folder;
  FileSystem& files = real_file_system();
  CHECK(files.list(folder.path() / "no").empty());
  put_file(folder.path() / "b", "");
  files.make_folder(folder.path() / "a");
  fs::create_directory_symlink(folder.path() / "a", folder.path() / "c");
  const auto entries = files.list(folder.path());
  REQUIRE(entries.size() == 3);
  CHECK((entries[0].name == "a" && entries[0].is_folder));
  CHECK((entries[1].name == "b" && !entries[1].is_folder));
  CHECK((entries[2].name == "c" && !entries[2].is_folder));
}

TEST_CASE("folders are made with their parents, again without harm", "[unit]") {
  TemporaryFolder folder;
  const fs::path deep = folder.path() / "a" / "b" / "c";
  make_folders(real_file_system(), deep);
  make_folders(real_file_system(), deep);
  CHECK(fs::is_directory(deep));
}

TEST_CASE("removing a tree does not follow links out of it", "[unit]") {
  TemporaryFolder folder;
  FileSystem& files = real_file_system();
  make_folders(files, folder.path() / "keep");
  put_file(folder.path() / "keep" / "f", "kept");
  make_folders(files, folder.path() / "tree" / "deep");
  put_file(folder.path() / "tree" / "deep" / "f", "");
  fs::create_directory_symlink(folder.path() / "keep",
                               folder.path() / "tree" / "link");
  remove_tree(files, folder.path() / "tree");
  CHECK(!files.exists(folder.path() / "tree"));
  CHECK(get_file(folder.path() / "keep" / "f") == "kept");
}

TEST_CASE("atomic write replaces the file and leaves nothing beside it",
          "[unit]") {
  TemporaryFolder folder;
  FileSystem& files = real_file_system();
  write_file_atomically(files, folder.path() / "f", "old");
  write_file_atomically(files, folder.path() / "f", "new");
  CHECK(get_file(folder.path() / "f") == "new");
  CHECK(files.list(folder.path()).size() == 1);
}
