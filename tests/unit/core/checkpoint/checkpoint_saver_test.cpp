// SPDX-License-Identifier: BSD-3-Clause
#include "core/checkpoint/checkpoint_saver.h"

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include <catch2/catch.hpp>

#include <titan/error.h>

#include "core/observe/memory.h"
#include "tests/unit/core/checkpoint/faulty_file_system.h"
#include "tests/unit/core/checkpoint/saved_step.h"
#include "tests/unit/core/checkpoint/temporary_folder.h"

using namespace titan::checkpoint;
using Catch::Contains;

namespace fs = std::filesystem;

namespace {

// A disk that stands still until it is let go: every sync waits.
class HeldFileSystem : public FileSystem {
 public:
  void release() {
    {
      const std::lock_guard lock(mutex_);
      is_held_ = false;
    }
    released_.notify_all();
  }

  std::unique_ptr<WritableFile> create(const fs::path& path) override {
    std::unique_lock lock(mutex_);
    released_.wait(lock, [&] { return !is_held_; });
    return real_.create(path);
  }
  void make_folder(const fs::path& path) override { real_.make_folder(path); }
  void rename(const fs::path& from, const fs::path& to) override {
    real_.rename(from, to);
  }
  void sync_folder(const fs::path& path) override { real_.sync_folder(path); }
  void remove(const fs::path& path) override { real_.remove(path); }
  std::vector<FolderEntry> list(const fs::path& path) const override {
    return real_.list(path);
  }
  bool exists(const fs::path& path) const override {
    return real_.exists(path);
  }

 private:
  FileSystem& real_ = real_file_system();
  std::mutex mutex_;
  std::condition_variable released_;
  bool is_held_ = true;
};

// Rank 0 publishes the moment the marker of another rank has its name.
class QuickRankZero final : public HeldFileSystem {
 public:
  QuickRankZero() { release(); }
  void rename(const fs::path& from, const fs::path& to) override {
    HeldFileSystem::rename(from, to);
    if (to.extension() != ".done") return;
    HeldFileSystem::rename(to.parent_path(),
                           to.parent_path().parent_path() / "published");
  }
};

using Numbers = std::vector<std::int64_t>;

CheckpointState state_of(std::int64_t step) {
  CheckpointState state;
  state.trainer = titan::text("{\"step\":", step, "}");
  return state;
}

CheckpointWriter writer_of(FileSystem& files,
                           const fs::path& folder,
                           std::int64_t step,
                           const Numbers& weight,
                           const Numbers& moment) {
  CheckpointWriter writer(files, {folder, step});
  writer.add_tensor("model", tensor_of("layers.0.weight", weight));
  writer.add_tensor("optimizer/exp_avg", tensor_of("layers.0.weight", moment));
  return writer;
}

}  // namespace

// Case CKP-05.
TEST_CASE("a save in the background holds the values at its step", "[unit]") {
  const TemporaryFolder folder;
  HeldFileSystem files;
  prepare_folder(files, folder.path());
  CheckpointSaver saver(files, {.is_async = true});
  Numbers weight = step_values(1, 100);
  Numbers moment = step_values(-1, 100);
  saver.start(writer_of(files, folder.path(), 1, weight, moment), state_of(1));
  // Nothing is written yet, and the next step changes everything.
  saver.wait_until_copied();
  CHECK_FALSE(saver.poll());
  weight.assign(weight.size(), 0);
  moment.assign(moment.size(), 0);
  files.release();
  saver.wait();
  const auto outcome = saver.poll();
  REQUIRE(outcome);
  CHECK(outcome->step == 1);
  CHECK(outcome->num_bytes == 1600);
  CHECK(outcome->blocked_seconds <= outcome->total_seconds);
  CHECK(holds_step(CheckpointReader(outcome->path), 1));
  CHECK_FALSE(saver.poll());
}

TEST_CASE("the copy is made behind the caller, who waits before a change",
          "[unit]") {
  const TemporaryFolder folder;
  FileSystem& files = real_file_system();
  prepare_folder(files, folder.path());
  CheckpointSaver saver(files, {.is_async = true});
  const Numbers values = step_values(1, 100);
  std::promise<void> release;
  TensorSource slow = tensor_of("layers.0.weight", values);
  slow.bytes = [&, bytes = slow.bytes, released = release.get_future().share()](
                   const ByteSink& sink) {
    released.wait();
    bytes(sink);
  };
  CheckpointWriter writer(files, {folder.path(), 1});
  writer.add_tensor("model", std::move(slow));
  saver.start(std::move(writer), state_of(1));  // does not wait for the copy
  std::atomic<bool> may_change = false;
  std::thread caller([&] {
    saver.wait_until_copied();
    may_change = true;
  });
  CHECK_FALSE(may_change);
  release.set_value();
  caller.join();
  saver.wait();
  const auto outcome = saver.poll();
  REQUIRE(outcome);
  CHECK(outcome->num_bytes == 800);
  saver.wait_until_copied();  // nothing is under way
}

TEST_CASE("a copy that fails lets the caller go on, and is thrown", "[unit]") {
  const TemporaryFolder folder;
  FileSystem& files = real_file_system();
  prepare_folder(files, folder.path());
  CheckpointSaver saver(files, {.is_async = true});
  const Numbers values = step_values(1, 100);
  TensorSource broken = tensor_of("layers.0.weight", values);
  broken.bytes = [](const ByteSink&) { throw titan::DeviceError("no memory"); };
  CheckpointWriter writer(files, {folder.path(), 1});
  writer.add_tensor("model", std::move(broken));
  saver.start(std::move(writer), state_of(1));
  saver.wait_until_copied();
  CHECK_THROWS_WITH(saver.wait(), Contains("no memory This is the save of"));
  CHECK(list_checkpoints(files, folder.path()).empty());
}

TEST_CASE("a save waits for the one before it; none is lost", "[unit]") {
  const TemporaryFolder folder;
  FileSystem& files = real_file_system();
  prepare_folder(files, folder.path());
  {
    CheckpointSaver saver(
        files, {.is_async = true, .retention = Retention{.keep = 2}});
    for (std::int64_t step = 1; step <= 5; ++step) {
      const Numbers weight = step_values(step, 100);
      const Numbers moment = step_values(-step, 100);
      saver.start(writer_of(files, folder.path(), step, weight, moment),
                  state_of(step));
      saver.wait_until_copied();  // before they go
    }
  }  // the destructor waits for the last one
  const auto left = list_checkpoints(files, folder.path());
  REQUIRE(left.size() == 2);
  CHECK(holds_step(CheckpointReader(left[0].path), 4));
  CHECK(holds_step(CheckpointReader(left[1].path), 5));
}

// Case CKP-05.
TEST_CASE("a failed background write is thrown at the next call", "[unit]") {
  const Numbers weight = step_values(2, 100);
  const Numbers moment = step_values(-2, 100);
  // The save of step 2 upon step 1; its n-th operation fails.
  const auto save = [&](FaultyFileSystem& files, const auto& then) {
    const TemporaryFolder folder;
    save_step(real_file_system(), folder.path(), 1);
    CheckpointSaver saver(files, {.is_async = true});
    saver.start(writer_of(files, folder.path(), 2, weight, moment),
                state_of(2));
    then(saver, folder.path());
    const auto latest = latest_checkpoint(real_file_system(), folder.path());
    REQUIRE(latest.reader);
    CHECK(holds_step(*latest.reader, latest.reader->step()));
  };
  FaultyFileSystem counter(Fault::kOneError, 0);
  save(counter, [](CheckpointSaver& saver, const fs::path&) { saver.wait(); });
  REQUIRE(counter.num_operations() > 10);
  for (int n = 1; n <= counter.num_operations(); ++n) {
    INFO("operation " << n);
    FaultyFileSystem waiting(Fault::kOneError, n);
    save(waiting, [](CheckpointSaver& saver, const fs::path&) {
      CHECK_THROWS_WITH(saver.wait(),
                        Contains("injected This is the save of step 2, written "
                                 "in the background"));
      CHECK_FALSE(saver.poll());
    });
    FaultyFileSystem saving(Fault::kOneError, n);
    save(saving, [&](CheckpointSaver& saver, const fs::path& folder) {
      CHECK_THROWS_AS(saver.start(writer_of(saving, folder, 3, weight, moment),
                                  state_of(3)),
                      titan::DeviceError);
    });
  }
}

// Case CKP-06.
TEST_CASE("twenty background saves use the memory of three", "[unit]") {
  const TemporaryFolder folder;
  FileSystem& files = real_file_system();
  prepare_folder(files, folder.path());
  CheckpointSaver saver(files,
                        {.is_async = true, .retention = Retention{.keep = 1}});
  const Numbers values(4'000'000, 7);  // 32 MB, twice
  std::int64_t after_three = 0;
  for (std::int64_t step = 1; step <= 20; ++step) {
    saver.start(writer_of(files, folder.path(), step, values, values),
                state_of(step));
    saver.wait();
    if (step == 3) after_three = titan::read_memory_use().anonymous_bytes;
  }
  const std::int64_t after_twenty = titan::read_memory_use().anonymous_bytes;
  CHECK(after_three > 2 * 32'000'000);
  CHECK(static_cast<double>(after_twenty) <
        1.1 * static_cast<double>(after_three));
  CHECK(saver.staging_bytes() < 66'000'000);
}

TEST_CASE("a rank is done with the folder once its marker has its name",
          "[unit]") {
  const TemporaryFolder folder;
  prepare_folder(real_file_system(), folder.path());
  QuickRankZero files;
  const Numbers values(10, 7);
  CheckpointWriter writer(files, {folder.path(), 1, 1, 2, "series"});
  writer.add_piece("model", tensor_of("w", values), {20}, {10});
  CHECK_NOTHROW(writer.write());
  CHECK(fs::exists(folder.path() / "published"));
}

TEST_CASE("ranks save at their own pace and meet only in the folder",
          "[unit]") {
  const TemporaryFolder folder;
  FileSystem& files = real_file_system();
  prepare_folder(files, folder.path());
  constexpr std::int64_t kWorld = 3;
  const Numbers whole = step_values(1, 30);
  std::vector<std::thread> ranks;
  for (std::int64_t rank = 0; rank < kWorld; ++rank)
    ranks.emplace_back([&, rank] {
      CheckpointSaver saver(files, {.is_async = rank != 1});
      for (std::int64_t step = 1; step <= 4; ++step) {
        CheckpointWriter writer(
            files,
            {folder.path(), step, rank, kWorld, titan::text("series-", step)});
        const Numbers mine(whole.begin() + rank * 10,
                           whole.begin() + (rank + 1) * 10);
        writer.add_piece("model", tensor_of("w", mine), {30}, {rank * 10});
        saver.start(std::move(writer), state_of(step));
        saver.wait_until_copied();
      }
    });
  for (std::thread& rank : ranks) rank.join();
  for (std::int64_t step = 1; step <= 4; ++step) {
    const CheckpointReader reader(folder.path() / step_folder_name(step));
    CHECK(reader.manifest().files.size() == 3);
    Numbers got(30);
    reader.read(
        "model", "w", {{0}, {30}}, std::as_writable_bytes(std::span(got)));
    CHECK(got == whole);
  }
  CHECK(files.list(folder.path()).size() == 4);
}
