// SPDX-License-Identifier: BSD-3-Clause
// Checkpoints in an object store: a storage of the SDK's making, in memory,
// that can fail at the n-th operation.
#include "core/plugin/plugin_file_system.h"

#include <map>
#include <mutex>

#include <catch2/catch.hpp>

#include <titan/error.h>
#include <titan/sdk/storage.hpp>

#include "core/checkpoint/checkpoint_folder.h"
#include "core/checkpoint/checkpoint_saver.h"
#include "tests/unit/core/checkpoint/saved_step.h"

using namespace titan::checkpoint;
using Catch::Contains;

namespace {

// What lies behind every MemoryStorage of a test.
struct Bucket {
  std::mutex mutex;
  std::map<std::string, std::string> objects;
  int num_operations = 0;
  int failing_operation = 0;  // 0: none; it and all after it fail
  std::size_t num_bytes_read = 0;

  void step(const char* call) {
    ++num_operations;
    if (failing_operation > 0 && num_operations >= failing_operation)
      throw titan::DeviceError(titan::text("[test] ", call, ": injected"));
  }
};

Bucket* bucket = nullptr;

class MemoryStorage {
 public:
  class Writer {
   public:
    explicit Writer(std::string key) : key_(std::move(key)) {}
    void append(std::span<const std::byte> bytes) {
      content_.append(reinterpret_cast<const char*>(bytes.data()),
                      bytes.size());
    }
    void finish() {
      const std::lock_guard lock(bucket->mutex);
      bucket->step("finish");
      bucket->objects[key_] = content_;
    }

   private:
    std::string key_;
    std::string content_;
  };

  std::unique_ptr<Writer> open_writer(std::string_view key) {
    return std::make_unique<Writer>(std::string(key));
  }
  std::optional<std::int64_t> size(std::string_view key) {
    const std::lock_guard lock(bucket->mutex);
    const auto found = bucket->objects.find(std::string(key));
    if (found == bucket->objects.end()) return std::nullopt;
    return static_cast<std::int64_t>(found->second.size());
  }
  void read(std::string_view key,
            std::uint64_t offset,
            std::span<std::byte> out) {
    const std::lock_guard lock(bucket->mutex);
    const std::string& content = bucket->objects.at(std::string(key));
    if (offset + out.size() > content.size())
      throw titan::DeviceError("[test] short object");
    std::memcpy(out.data(), content.data() + offset, out.size());
    bucket->num_bytes_read += out.size();
  }
  void list(std::string_view key, const titan::NameSink& add) {
    const std::lock_guard lock(bucket->mutex);
    const std::string prefix = key.empty() ? "" : std::string(key) + "/";
    std::map<std::string, bool> names;
    for (const auto& [name, content] : bucket->objects) {
      if (!name.starts_with(prefix)) continue;
      const std::string rest = name.substr(prefix.size());
      names[rest.substr(0, rest.find('/'))] =
          rest.find('/') != std::string::npos;
    }
    for (const auto& [name, has_children] : names) add(name, has_children);
  }
  void remove(std::string_view key) {
    const std::lock_guard lock(bucket->mutex);
    bucket->step("remove");
    bucket->objects.erase(std::string(key));
  }
};

// A storage as the host has it after loading a plugin.
class Store {
 public:
  Store() : table_(0) {
    bucket = &bucket_;
    component_.kind = titan::plugin::kStorageKind;
    component_.id = "test.memory";
    component_.table = table_.get();
    component_.owner = std::make_shared<titan::plugin::LoadedPlugin>();
    files_ = std::make_unique<titan::plugin::PluginFileSystem>(
        component_, titan::config::Value::empty_map());
  }
  ~Store() { bucket = nullptr; }

  FileSystem& files() { return *files_; }
  Bucket& content() { return bucket_; }

 private:
  Bucket bucket_;
  titan::detail::StorageTable<MemoryStorage> table_;
  titan::plugin::Component component_;
  std::unique_ptr<titan::plugin::PluginFileSystem> files_;
};

const std::filesystem::path kFolder = "/runs/a";

void save(Store& store, std::int64_t step, const std::string& token) {
  CheckpointWriter writer(store.files(), {kFolder, step, 0, 1, token});
  const auto weight = step_values(step, 100);
  const auto moment = step_values(-step, 100);
  writer.add_tensor("model", tensor_of("layers.0.weight", weight));
  writer.add_tensor("optimizer/exp_avg", tensor_of("layers.0.weight", moment));
  CheckpointState state;
  state.trainer = titan::text("{\"step\":", step, "}");
  writer.commit(state);
}

LatestCheckpoint latest_of(Store& store) {
  return latest_checkpoint(store.files(), kFolder, Verification::kChecksums);
}

std::vector<std::int64_t> steps_of(Store& store) {
  std::vector<std::int64_t> steps;
  for (const auto& entry : list_checkpoints(store.files(), kFolder))
    steps.push_back(entry.step);
  return steps;
}

}  // namespace

TEST_CASE("a checkpoint in an object store comes back", "[unit]") {
  Store store;
  save(store, 7, "t-1");
  CHECK(store.content().objects.contains(
      "runs/a/step_00000007/model-rank0-t-1.safetensors"));
  CHECK(store.content().objects.size() == 3);
  const LatestCheckpoint latest = latest_of(store);
  REQUIRE(latest.reader);
  CHECK(holds_step(*latest.reader, 7));
}

TEST_CASE("a reader of an object store fetches what it is asked for",
          "[unit]") {
  Store store;
  CheckpointWriter writer(store.files(), {kFolder, 1, 0, 1, "t"});
  const auto values = step_values(1, 100'000);
  TensorSource table = tensor_of("table", values);
  table.spec.shape = {1000, 100};
  writer.add_tensor("model", std::move(table));
  const auto path = writer.commit({});
  store.content().num_bytes_read = 0;
  const CheckpointReader reader(path, Verification::kAutomatic, store.files());
  std::vector<std::int64_t> rows(200);
  for (int round = 0; round < 2; ++round) {  // the second fetches nothing
    reader.read("model",
                "table",
                {{500, 0}, {2, 100}},
                std::as_writable_bytes(std::span(rows)));
    CHECK(rows.front() == values[50'000]);
    CHECK(rows.back() == values[50'199]);
  }
  CHECK(store.content().num_bytes_read < 4000);
  // Ranges that overlap others and reach beyond them.
  std::vector<std::int64_t> more(1000);
  reader.read("model",
              "table",
              {{496, 0}, {10, 100}},
              std::as_writable_bytes(std::span(more)));
  CHECK(more == std::vector(values.begin() + 49'600, values.begin() + 50'600));
  CHECK(store.content().num_bytes_read < 4000 + 8000);
}

TEST_CASE("a failure at any operation keeps a checkpoint in the store",
          "[unit]") {
  for (const std::int64_t before : {1, 2}) {  // 2: replaces its own step
    for (int n = 1;; ++n) {
      INFO("operation " << n << " over step " << before);
      Store store;
      save(store, before, "first");
      store.content().num_operations = 0;
      store.content().failing_operation = n;
      bool is_saved = true;
      try {
        save(store, 2, "second");
      } catch (const titan::DeviceError&) {
        is_saved = false;
      }
      const bool was_reached = store.content().num_operations >= n;
      store.content().failing_operation = 0;
      const LatestCheckpoint latest = latest_of(store);
      REQUIRE(latest.reader);
      CHECK(latest.rejected.empty());
      CHECK(holds_step(*latest.reader, latest.reader->step()));
      // The next save tidies up.
      save(store, 3, "third");
      CHECK(holds_step(*latest_of(store).reader, 3));
      if (is_saved && before == 1) CHECK(store.content().objects.size() == 9);
      if (!was_reached) break;
      REQUIRE(n < 50);
    }
  }
}

TEST_CASE("prune and set aside work without renames", "[unit]") {
  Store store;
  for (std::int64_t step = 1; step <= 5; ++step)
    save(store, step, titan::text("t-", step));
  prune_checkpoints(store.files(), kFolder, {.keep = 3});
  CHECK(steps_of(store) == std::vector<std::int64_t>{3, 4, 5});
  CHECK(store.content().objects.size() == 9);
  CHECK(set_aside_later(store.files(), kFolder, 3).size() == 2);
  CHECK(steps_of(store) == std::vector<std::int64_t>{3});
  CHECK(store.content().objects.contains(
      "runs/a/step_00000005/manifest.previous.json"));
  // What was set aside is not a leftover; what has no manifest is.
  store.content().objects["runs/a/step_00000009/model-rank0.safetensors"] = "x";
  store.content().objects["runs/a/notes/mine.txt"] = "x";
  clean_leftovers(store.files(), kFolder);
  CHECK(store.content().objects.size() == 10);
}

TEST_CASE("ranks meet in an object store too", "[unit]") {
  Store store;
  constexpr std::int64_t kWorld = 3;
  const auto whole = step_values(1, 30);
  std::vector<std::thread> ranks;
  for (std::int64_t rank = 0; rank < kWorld; ++rank)
    ranks.emplace_back([&, rank] {
      CheckpointSaver saver(store.files(), {.is_async = true});
      for (std::int64_t step = 1; step <= 3; ++step) {
        CheckpointWriter writer(
            store.files(),
            {kFolder, step, rank, kWorld, titan::text("s-", step)});
        const std::vector<std::int64_t> mine(whole.begin() + rank * 10,
                                             whole.begin() + (rank + 1) * 10);
        writer.add_piece("model", tensor_of("w", mine), {30}, {rank * 10});
        saver.start(std::move(writer), {});
        saver.wait_until_copied();
      }
      saver.wait();
    });
  for (std::thread& rank : ranks) rank.join();
  CHECK(steps_of(store) == std::vector<std::int64_t>{1, 2, 3});
  CHECK(store.content().objects.size() == 12);  // no marker is left
}

TEST_CASE("paths become keys, and none leaves the prefix", "[unit]") {
  Store store;
  write_file(store.files(), "/a//b/./c", "x");
  CHECK(store.content().objects.contains("a/b/c"));
  CHECK(store.files().exists("a/b"));
  CHECK_FALSE(store.files().exists("a/c"));
  CHECK_THROWS_AS(store.files().size("../a"), titan::UserError);
  CHECK_THROWS_WITH(store.files().open("a/none"),
                    Contains("expected an object of test.memory, got none"));
  CHECK_THROWS_AS(store.files().rename("a", "b"), titan::BugError);
}
