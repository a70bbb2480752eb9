// SPDX-License-Identifier: BSD-3-Clause
#include "core/checkpoint/checkpoint_writer.h"

#include <algorithm>
#include <array>

#include <catch2/catch.hpp>

#include <titan/error.h>

#include "core/checkpoint/checkpoint_folder.h"
#include "tests/unit/core/checkpoint/faulty_file_system.h"
#include "tests/unit/core/checkpoint/saved_step.h"
#include "tests/unit/core/checkpoint/temporary_folder.h"

using namespace titan::checkpoint;
using Catch::Contains;

namespace fs = std::filesystem;

namespace {

// A save of step 2 upon `steps`, its n-th operation failing. Returns whether
// the save reported success.
bool save_with_fault(FaultyFileSystem& files, const fs::path& folder) {
  try {
    save_step(files, folder, 2);
    return true;
  } catch (const titan::DeviceError&) {
    return false;
  }
}

}  // namespace

TEST_CASE("checkpoint comes back with tensors, state and files", "[unit]") {
  TemporaryFolder folder;
  CheckpointWriter writer(real_file_system(), {folder.path() / "run" / "c", 7});
  const auto values = step_values(3, 6);
  writer.add_tensor("model", tensor_of("w", values));
  writer.add_tensor(
      "model", {{"scalar", Dtype::kBf16, {}}, borrow_bytes(bytes_of("ab"))});
  writer.add_tensor("model",
                    {{"empty", Dtype::kF32, {0, 4}}, borrow_bytes({})});
  writer.add_tensor("optimizer/exp_avg", tensor_of("w", values));
  writer.set_rank_state(R"({"position":18446744073709551615})");
  CheckpointState state;
  state.trainer = R"({"z":1,"a":0.1,"rng":[9223372036854775807]})";
  state.recipe = R"({"model":{"use":"titan.llama3"}})";
  state.plugins = R"({"titan.llama3":{"sha256":"00"}})";
  state.layout = R"({"dp_shard":1})";
  const fs::path path = writer.commit(state);
  CHECK(path.filename() == "step_00000007");
  const auto entries = real_file_system().list(path);
  REQUIRE(entries.size() == 3);
  CHECK(entries[0].name == "manifest.json");
  CHECK(entries[1].name == "model-rank0.safetensors");
  CHECK(entries[2].name == "optimizer-rank0.safetensors");
  CHECK(real_file_system().list(path.parent_path()).size() == 1);

  const CheckpointReader reader(path, Verification::kChecksums);
  CHECK(reader.step() == 7);
  CHECK(reader.manifest().world_size == 1);
  CHECK(reader.manifest().state.trainer == state.trainer);
  CHECK(reader.manifest().state.recipe == state.recipe);
  CHECK(reader.manifest().state.plugins == state.plugins);
  CHECK(reader.manifest().state.layout == state.layout);
  CHECK(reader.manifest().rank_states ==
        std::vector<std::string>{R"({"position":18446744073709551615})"});
  CHECK(reader.find("model", "w")->shape == std::vector<std::int64_t>{6});
  CHECK(reader.find("model", "empty")->dtype == Dtype::kF32);
  CHECK(reader.find("optimizer/exp_avg", "w") != nullptr);
  CHECK(reader.find("optimizer/exp_avg", "scalar") == nullptr);
  std::string scalar(2, ' ');
  reader.read("model", "scalar", {}, std::as_writable_bytes(std::span(scalar)));
  CHECK(scalar == "ab");
  CHECK_THROWS_WITH(reader.read("model", "nope", {}, {}),
                    Contains("model tensor is absent: expected \"nope\""));
}

TEST_CASE("example of docs/checkpoint_format.md is what is written", "[unit]") {
  TemporaryFolder folder;
  CheckpointWriter writer(real_file_system(), {folder.path(), 100});
  const std::array<float, 2> weight = {1.0f, -2.0f};
  const std::array<float, 2> moment = {0.5f, 0.25f};
  const TensorSpec spec = {"norm.weight", Dtype::kF32, {2}};
  writer.add_tensor("model",
                    {spec, borrow_bytes(std::as_bytes(std::span(weight)))});
  writer.add_tensor("optimizer/exp_avg",
                    {spec, borrow_bytes(std::as_bytes(std::span(moment)))});
  writer.set_rank_state(R"({"data":{"position":6400}})");
  CheckpointState state;
  state.trainer = R"({"step":100,"tokens_seen":51200})";
  state.recipe = R"({"training":{"steps":200}})";
  state.plugins = R"({"titan.adamw":{"version":"1.0.0"}})";
  state.layout = R"({"dp_shard":1})";
  const fs::path path = writer.commit(state);
  const std::string document =
      get_file(TITAN_SOURCE_DIR "/docs/checkpoint_format.md");
  CHECK_THAT(document, Contains(get_file(path / "manifest.json")));
  CHECK(fs::file_size(path / "model-rank0.safetensors") == 112);
}

TEST_CASE("saving a step again replaces it", "[unit]") {
  TemporaryFolder folder;
  FileSystem& files = real_file_system();
  save_step(files, folder.path(), 2, 10);
  save_step(files, folder.path(), 2);
  CHECK(holds_step(CheckpointReader(folder.path() / "step_00000002"), 2));
  CHECK(files.list(folder.path()).size() == 1);
}

TEST_CASE("error at any operation of a save keeps the last checkpoint",
          "[unit]") {
  TemporaryFolder counting;
  FaultyFileSystem counter(Fault::kOneError, 0);
  CHECK(save_with_fault(counter, counting.path()));
  REQUIRE(counter.num_operations() > 15);
  for (int n = 1; n <= counter.num_operations(); ++n) {
    INFO("operation " << n);
    TemporaryFolder folder;
    save_step(real_file_system(), folder.path(), 1);
    FaultyFileSystem files(Fault::kOneError, n);
    CHECK_FALSE(save_with_fault(files, folder.path()));
    const LatestCheckpoint latest =
        latest_checkpoint(real_file_system(), folder.path());
    REQUIRE(latest.reader.has_value());
    // Visible already where only the last sync failed.
    const std::int64_t step = latest.reader->step();
    CHECK(holds_step(*latest.reader, step));
    // The next save succeeds and nothing is left over.
    save_step(real_file_system(), folder.path(), 3);
    CHECK(real_file_system().list(folder.path()).size() ==
          static_cast<std::size_t>(step + 1));
  }
}

TEST_CASE("power loss at any operation of a save loses no finished save",
          "[unit]") {
  TemporaryFolder counting;
  FaultyFileSystem counter(Fault::kPowerLoss, 0);
  CHECK(save_with_fault(counter, counting.path()));
  for (int n = 1; n <= counter.num_operations() + 1; ++n) {
    for (const bool is_replacement : {false, true}) {
      INFO("operation " << n << " replacement " << is_replacement);
      TemporaryFolder folder;
      save_step(real_file_system(), folder.path(), is_replacement ? 2 : 1);
      FaultyFileSystem files(Fault::kPowerLoss, n);
      const bool is_saved = save_with_fault(files, folder.path());
      files.lose_unsynced();
      const LatestCheckpoint latest =
          latest_checkpoint(real_file_system(), folder.path());
      REQUIRE(latest.reader.has_value());
      CHECK(latest.rejected.empty());
      const std::int64_t step = latest.reader->step();
      CHECK(holds_step(*latest.reader, step));
      if (is_saved) CHECK(step == 2);
      save_step(real_file_system(), folder.path(), 3);
      CHECK(list_checkpoints(real_file_system(), folder.path()).back().step ==
            3);
    }
  }
}

TEST_CASE("ranks' shards make whole tensors on any other layout", "[unit]") {
  TemporaryFolder folder;
  FileSystem& files = real_file_system();
  // A 6 x 4 tensor: rank 0 holds rows 0-2, rank 1 two column blocks of 3-5.
  const auto whole = step_values(1, 24);
  const auto block = [&](int row, int column, int rows, int columns) {
    std::vector<std::int64_t> values;
    for (int r = row; r < row + rows; ++r)
      for (int c = column; c < column + columns; ++c)
        values.push_back(whole[static_cast<std::size_t>(r * 4 + c)]);
    return values;
  };
  const auto top = block(0, 0, 3, 4);
  const auto left = block(3, 0, 3, 1);
  const auto right = block(3, 1, 3, 3);
  const auto piece = [](const std::vector<std::int64_t>& values,
                        std::vector<std::int64_t> shape) {
    TensorSource source = tensor_of("w", values);
    source.spec.shape = std::move(shape);
    return source;
  };
  prepare_folder(files, folder.path());
  CheckpointWriter rank0(files, {folder.path(), 5, 0, 2, "token"});
  CheckpointWriter rank1(files, {folder.path(), 5, 1, 2, "token"});
  const MarkerWait no_wait = {std::chrono::milliseconds(0)};
  rank0.add_piece("model", piece(top, {3, 4}), {6, 4}, {0, 0});
  rank1.add_piece("model", piece(left, {3, 1}), {6, 4}, {3, 0});
  rank0.set_rank_state("{\"rank\":0}");

  SECTION("complete") {
    rank1.add_piece("model", piece(right, {3, 3}), {6, 4}, {3, 1});
    rank1.write();
    rank0.write();
    const CheckpointReader reader(rank0.publish({}));
    CHECK(files.list(reader.path()).size() == 3);  // no marker
    CHECK(reader.manifest().rank_states ==
          std::vector<std::string>{"{\"rank\":0}", "{}"});
    CHECK(reader.pieces("model", "w").size() == 3);
    for (int rows = 0; rows <= 6; ++rows) {
      for (int column = 0; column < 4; ++column) {
        const int row = (6 - rows) / 2;
        const Region region = {{row, column}, {rows, 4 - column}};
        std::vector<std::int64_t> got(
            static_cast<std::size_t>(num_elements(region)));
        reader.read(
            "model", "w", region, std::as_writable_bytes(std::span(got)));
        CHECK(got == block(row, column, rows, 4 - column));
      }
    }
    CHECK_THROWS_AS(reader.read("model", "w", {{5, 0}, {2, 1}}, {}),
                    titan::BugError);
  }
  SECTION("incomplete") {
    rank0.write();
    rank1.write();
    CHECK_THROWS_WITH(rank0.publish({}),
                      Contains("expected regions that hold each element once"));
    CHECK(list_checkpoints(files, folder.path()).empty());
  }
  SECTION("a rank that does not come") {
    rank0.write();
    CHECK_THROWS_WITH(
        rank0.publish({}, no_wait),
        Contains("done marker of rank 1: expected within 0 ms, got none. All "
                 "ranks must share the folder."));
    CHECK(list_checkpoints(files, folder.path()).empty());
  }
  SECTION("a rank whose disk is full") {
    rank0.write();
    rank1.report_failure("No space left on device");
    CHECK_THROWS_WITH(rank0.publish({}),
                      Contains("rank 1: expected its files, got: No space left "
                               "on device"));
  }
  SECTION("a marker of another save is not this one's") {
    CheckpointWriter killed(files, {folder.path(), 5, 1, 2, "older"});
    killed.write();
    rank0.write();
    CHECK_THROWS_AS(rank0.publish({}, no_wait), titan::DeviceError);
    prepare_folder(files, folder.path());
    CHECK(files.list(folder.path()).empty());
  }
}

TEST_CASE("writer refuses what only a bug can ask for", "[unit]") {
  TemporaryFolder folder;
  FileSystem& files = real_file_system();
  CHECK_THROWS_AS(CheckpointWriter(files, {folder.path(), -1}),
                  titan::BugError);
  CHECK_THROWS_AS(CheckpointWriter(files, {folder.path(), 1, 2, 2}),
                  titan::BugError);
  CheckpointWriter writer(files, {folder.path(), 1});
  const auto values = step_values(1, 1);
  CHECK_THROWS_WITH(writer.add_tensor("../x", tensor_of("w", values)),
                    Contains("[checkpoint] role: expected"));
  CheckpointState state;
  state.trainer = "{";
  CHECK_THROWS_AS(writer.commit(state), titan::BugError);
  CHECK(list_checkpoints(files, folder.path()).empty());
}
