// SPDX-License-Identifier: BSD-3-Clause
#include "core/checkpoint/checkpoint_folder.h"

#include <catch2/catch.hpp>

#include <titan/error.h>

#include "tests/unit/core/checkpoint/faulty_file_system.h"
#include "tests/unit/core/checkpoint/saved_step.h"
#include "tests/unit/core/checkpoint/temporary_folder.h"

using namespace titan::checkpoint;
using Catch::Contains;

namespace fs = std::filesystem;

namespace {

std::vector<std::int64_t> steps_in(const fs::path& folder) {
  std::vector<std::int64_t> steps;
  for (const CheckpointEntry& entry :
       list_checkpoints(real_file_system(), folder))
    steps.push_back(entry.step);
  return steps;
}

void save_steps(const fs::path& folder, std::int64_t first, std::int64_t last) {
  for (std::int64_t step = first; step <= last; ++step)
    save_step(real_file_system(), folder, step);
}

void flip_byte(const fs::path& path, std::size_t at) {
  std::string content = get_file(path);
  content.at(at) = static_cast<char>(content.at(at) ^ 1);
  put_file(path, content);
}

void expect_fallback(const fs::path& folder, const std::string& reason) {
  const LatestCheckpoint latest = latest_checkpoint(real_file_system(), folder);
  REQUIRE(latest.reader.has_value());
  CHECK(holds_step(*latest.reader, 1));
  REQUIRE(latest.rejected.size() == 1);
  CHECK_THAT(latest.rejected[0], Contains(reason));
}

}  // namespace

TEST_CASE("step folders are named with eight digits or more", "[unit]") {
  CHECK(step_folder_name(0) == "step_00000000");
  CHECK(step_folder_name(100) == "step_00000100");
  CHECK(step_folder_name(1234567890) == "step_1234567890");
}

TEST_CASE("only names that we write are checkpoints", "[unit]") {
  TemporaryFolder folder;
  for (const char* name : {"step_00000002",
                           "step_00000001",
                           "step_5",
                           "step_000000003",
                           "step_x",
                           "step_-0000001",
                           "step_",
                           ".step_00000004.tmp",
                           ".step_00000004.removed",
                           ".step_00000006.old",
                           ".step_00000002.old",
                           "notes"})
    fs::create_directory(folder.path() / name);
  put_file(folder.path() / "step_00000009", "a file");
  CHECK(steps_in(folder.path()) == std::vector<std::int64_t>{1, 2, 6});
  CHECK(steps_in(folder.path() / "absent").empty());
}

TEST_CASE("no folder and an empty folder have no latest checkpoint", "[unit]") {
  TemporaryFolder folder;
  CHECK(!latest_checkpoint(real_file_system(), folder.path()).reader);
  CHECK(!latest_checkpoint(real_file_system(), folder.path() / "no").reader);
}

TEST_CASE("damaged newest checkpoint is reported and passed over", "[unit]") {
  TemporaryFolder folder;
  save_steps(folder.path(), 1, 2);
  const fs::path newest = folder.path() / "step_00000002";
  const fs::path model = newest / "model-rank0.safetensors";
  SECTION("flipped byte of a tensor") {
    flip_byte(model, fs::file_size(model) - 1);
    expect_fallback(folder.path(), "file is damaged: expected checksum");
  }
  SECTION("truncated file") {
    fs::resize_file(model, fs::file_size(model) - 1);
    expect_fallback(folder.path(), "file is truncated: expected");
  }
  SECTION("longer file") {
    fs::resize_file(model, fs::file_size(model) + 1);
    expect_fallback(folder.path(), "file is too long: expected");
  }
  SECTION("missing file") {
    fs::remove(model);
    expect_fallback(folder.path(), "file is absent: expected");
  }
  SECTION("missing manifest") {
    fs::remove(newest / "manifest.json");
    expect_fallback(folder.path(), "open: expected a readable file");
  }
  // Every single byte: manifest_test.cpp, in memory.
  SECTION("damaged manifest") {
    const fs::path manifest = newest / "manifest.json";
    const std::size_t size = fs::file_size(manifest);
    for (std::size_t at = 0; at < size; at += 97) {
      flip_byte(manifest, at);
      expect_fallback(folder.path(), "manifest.json] ");
      flip_byte(manifest, at);
    }
    for (std::size_t length = 0; length < size; length += 101) {
      const std::string whole = get_file(manifest);
      put_file(manifest, whole.substr(0, length));
      expect_fallback(folder.path(), "manifest.json] ");
      put_file(manifest, whole);
    }
  }
}

TEST_CASE("sizes alone do not see a flipped byte, checksums do", "[unit]") {
  TemporaryFolder folder;
  save_steps(folder.path(), 1, 1);
  const fs::path path = folder.path() / "step_00000001";
  const fs::path model = path / "model-rank0.safetensors";
  flip_byte(model, fs::file_size(model) - 1);
  CHECK_NOTHROW(verify_checkpoint(path, Verification::kSizes));
  CHECK_THROWS_AS(verify_checkpoint(path, Verification::kAutomatic),
                  titan::UserError);
  CHECK_THROWS_AS(verify_checkpoint(path, Verification::kChecksums),
                  titan::UserError);
}

TEST_CASE("leftovers are ignored and the next save removes them", "[unit]") {
  TemporaryFolder folder;
  save_steps(folder.path(), 1, 1);
  for (const char* name :
       {".step_00000003.tmp", ".step_00000000.removed", "notes"})
    fs::create_directory(folder.path() / name);
  put_file(folder.path() / ".step_00000003.tmp" / "manifest.json", "{");
  put_file(folder.path() / ".hidden.tmp", "foreign");
  CHECK(latest_checkpoint(real_file_system(), folder.path()).reader->step() ==
        1);
  save_steps(folder.path(), 2, 2);
  std::vector<std::string> names;
  for (const auto& entry : real_file_system().list(folder.path()))
    names.push_back(entry.name);
  CHECK(names == std::vector<std::string>{
                     ".hidden.tmp", "notes", "step_00000001", "step_00000002"});
}

TEST_CASE("checkpoint caught in its replacement is found and put back",
          "[unit]") {
  TemporaryFolder folder;
  save_steps(folder.path(), 1, 2);
  fs::rename(folder.path() / "step_00000002",
             folder.path() / ".step_00000002.old");
  CHECK(holds_step(*latest_checkpoint(real_file_system(), folder.path()).reader,
                   2));
  clean_leftovers(real_file_system(), folder.path());
  CHECK(holds_step(CheckpointReader(folder.path() / "step_00000002"), 2));
}

TEST_CASE("prune keeps the newest complete checkpoints", "[unit]") {
  TemporaryFolder folder;
  save_steps(folder.path(), 1, 5);
  put_file(folder.path() / "notes.txt", "mine");
  fs::create_directory(folder.path() / "step_x");
  SECTION("two") {
    CHECK(prune_checkpoints(real_file_system(), folder.path(), {2}).size() ==
          3);
    CHECK(steps_in(folder.path()) == std::vector<std::int64_t>{4, 5});
  }
  SECTION("one") {
    prune_checkpoints(real_file_system(), folder.path(), {1});
    CHECK(steps_in(folder.path()) == std::vector<std::int64_t>{5});
  }
  SECTION("more than there are") {
    CHECK(prune_checkpoints(real_file_system(), folder.path(), {9}).empty());
    CHECK(steps_in(folder.path()).size() == 5);
  }
  SECTION("none is refused") {
    CHECK_THROWS_WITH(prune_checkpoints(real_file_system(), folder.path(), {0}),
                      Contains("expected at least 1, got 0"));
  }
  CHECK(get_file(folder.path() / "notes.txt") == "mine");
  CHECK(fs::exists(folder.path() / "step_x"));
}

TEST_CASE("prune never deletes the last checkpoint that can be trusted",
          "[unit]") {
  TemporaryFolder folder;
  save_steps(folder.path(), 1, 5);
  // Complete by size, damaged in content.
  for (const char* step : {"step_00000004", "step_00000005"}) {
    const fs::path model = folder.path() / step / "model-rank0.safetensors";
    flip_byte(model, fs::file_size(model) - 1);
  }
  prune_checkpoints(real_file_system(), folder.path(), {1});
  CHECK(steps_in(folder.path()) == std::vector<std::int64_t>{3, 4, 5});
  CHECK(latest_checkpoint(real_file_system(), folder.path()).reader->step() ==
        3);
  fs::remove(folder.path() / "step_00000003" / "manifest.json");
  CHECK(prune_checkpoints(real_file_system(), folder.path(), {1}).empty());
}

TEST_CASE("steps that are multiples of keep_every outlive the newest",
          "[unit]") {
  const TemporaryFolder folder;
  save_steps(folder.path(), 1, 10);
  prune_checkpoints(
      real_file_system(), folder.path(), {.keep = 2, .keep_every = 4});
  CHECK(steps_in(folder.path()) == std::vector<std::int64_t>{4, 8, 9, 10});
  CHECK_THROWS_WITH(
      prune_checkpoints(
          real_file_system(), folder.path(), {.keep = 2, .keep_every = -1}),
      Contains("[checkpoint.keep_every]"));
}

TEST_CASE("the checkpoint that was just saved need not be read again",
          "[unit]") {
  const TemporaryFolder folder;
  save_steps(folder.path(), 1, 3);
  // What the disk does to it afterwards is the next prune's concern.
  const fs::path model =
      folder.path() / "step_00000003" / "model-rank0.safetensors";
  flip_byte(model, fs::file_size(model) - 1);
  const auto go = [&](std::int64_t trusted) {
    return checkpoints_to_prune(real_file_system(),
                                folder.path(),
                                {.keep = 1, .trusted_step = trusted})
        .size();
  };
  CHECK(go(-1) == 1);
  CHECK(go(3) == 2);
}

TEST_CASE("prune of an absent folder removes nothing", "[unit]") {
  TemporaryFolder folder;
  CHECK(
      prune_checkpoints(real_file_system(), folder.path() / "no", {2}).empty());
}

TEST_CASE("power loss at any operation of a prune keeps the kept ones",
          "[unit]") {
  TemporaryFolder counting;
  save_steps(counting.path(), 1, 4);
  FaultyFileSystem counter(Fault::kPowerLoss, 0);
  prune_checkpoints(counter, counting.path(), {2});
  REQUIRE(counter.num_operations() > 8);
  for (int n = 1; n <= counter.num_operations(); ++n) {
    INFO("operation " << n);
    TemporaryFolder folder;
    save_steps(folder.path(), 1, 4);
    FaultyFileSystem files(Fault::kPowerLoss, n);
    CHECK_THROWS_AS(prune_checkpoints(files, folder.path(), {2}),
                    titan::DeviceError);
    files.lose_unsynced();
    for (const CheckpointEntry& entry :
         list_checkpoints(real_file_system(), folder.path()))
      CHECK(holds_step(CheckpointReader(entry.path), entry.step));
    save_steps(folder.path(), 5, 5);
    prune_checkpoints(real_file_system(), folder.path(), {2});
    CHECK(real_file_system().list(folder.path()).size() == 2);
  }
}

TEST_CASE("checkpoints beyond a step are set aside and no longer listed",
          "[unit]") {
  const TemporaryFolder folder;
  for (const std::int64_t step : {1, 2, 3})
    save_step(real_file_system(), folder.path(), step);
  fs::create_directory(folder.path() / "step_00000003.previous");
  put_file(folder.path() / "step_00000003.previous" / "file", "older");
  const auto moved = set_aside_later(real_file_system(), folder.path(), 1);
  CHECK(moved == std::vector<fs::path>{folder.path() / "step_00000002",
                                       folder.path() / "step_00000003"});
  const auto left = list_checkpoints(real_file_system(), folder.path());
  REQUIRE(left.size() == 1);
  CHECK(left.front().step == 1);
  for (const char* name : {"step_00000002.previous", "step_00000003.previous"})
    CHECK(CheckpointReader(folder.path() / name).step() > 1);
  CHECK(set_aside_later(real_file_system(), folder.path(), 1).empty());
}
