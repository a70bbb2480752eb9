// SPDX-License-Identifier: BSD-3-Clause
#include "core/checkpoint/export.h"

#include <algorithm>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/checkpoint/safetensors_folder.h"
#include "tests/unit/core/checkpoint/faulty_file_system.h"
#include "tests/unit/core/checkpoint/saved_step.h"
#include "tests/unit/core/checkpoint/temporary_folder.h"

using namespace titan::checkpoint;
using Catch::Contains;

namespace fs = std::filesystem;

namespace {

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const FolderEntry& entry : real_file_system().list(folder))
    names.push_back(entry.name);
  return names;
}

// The golden model, borrowed from `model`.
HfFolder golden_content(const SafetensorsFolder& model) {
  HfFolder content;
  content.config_json =
      get_file(model.files()[0].path().parent_path() / "config.json");
  for (const TensorView* view : model.tensors())
    content.tensors.push_back(
        {{view->name, view->dtype, view->shape}, borrow_bytes(view->bytes)});
  return content;
}

const std::string kGolden = TITAN_SOURCE_DIR "/tests/golden/llama3";

}  // namespace

TEST_CASE("exported small model is the file that PyTorch wrote", "[unit]") {
  TemporaryFolder folder;
  const SafetensorsFolder model(kGolden);
  HfFolder content = golden_content(model);
  content.generation_config_json = "{}";
  content.other_files["tokenizer.json"] = "{\"t\":1}";
  const fs::path path = folder.path() / "a" / "hf";
  write_hf_folder(real_file_system(), path / "", content);
  CHECK(names_in(path) == std::vector<std::string>{"config.json",
                                                   "generation_config.json",
                                                   "model.safetensors",
                                                   "tokenizer.json"});
  CHECK(get_file(path / "model.safetensors") ==
        get_file(kGolden + "/model.safetensors"));
  CHECK(get_file(path / "config.json") == get_file(kGolden + "/config.json"));
  CHECK(names_in(folder.path() / "a") == std::vector<std::string>{"hf"});
}

TEST_CASE("exported shards stay below the limit and read back", "[unit]") {
  TemporaryFolder folder;
  const SafetensorsFolder model(kGolden);
  HfFolder content = golden_content(model);
  content.max_shard_bytes = 100'000;
  const fs::path path = folder.path() / "hf";
  write_hf_folder(real_file_system(), path, content);
  CHECK(names_in(path)[1] == "model-00001-of-00005.safetensors");
  CHECK(names_in(path).back() == "model.safetensors.index.json");
  const SafetensorsFolder shards(path);
  CHECK(shards.tensors().size() == model.tensors().size());
  for (const TensorView* view : model.tensors())
    CHECK(std::ranges::equal(shards.get(view->name).bytes, view->bytes));
  for (const SafetensorsFile& file : shards.files()) {
    std::size_t shard_bytes = 0;
    for (const TensorView& view : file.tensors())
      shard_bytes += view.bytes.size();
    CHECK(shard_bytes <= 100'000);
    CHECK(file.metadata().at("format") == "pt");
  }
  const auto index =
      nlohmann::json::parse(get_file(path / "model.safetensors.index.json"));
  CHECK(index["metadata"]["total_size"] == 106816 * 4);
}

TEST_CASE("tensor above the limit gets a shard of its own", "[unit]") {
  TemporaryFolder folder;
  const auto small = step_values(1, 1);
  const auto large = step_values(2, 100);
  HfFolder content;
  content.config_json = "{}";
  content.tensors = {
      tensor_of("a", small), tensor_of("b", large), tensor_of("c", small)};
  content.max_shard_bytes = 16;
  write_hf_folder(real_file_system(), folder.path() / "hf", content);
  CHECK(SafetensorsFolder(folder.path() / "hf").files().size() == 3);
}

TEST_CASE("export refuses an existing path and repeated names", "[unit]") {
  TemporaryFolder folder;
  HfFolder content;
  content.config_json = "{}";
  CHECK_THROWS_WITH(write_hf_folder(real_file_system(), folder.path(), content),
                    Contains("expected a path that does not exist"));
  const auto values = step_values(1, 1);
  content.tensors = {tensor_of("a", values), tensor_of("a", values)};
  content.max_shard_bytes = 8;
  CHECK_THROWS_WITH(
      write_hf_folder(real_file_system(), folder.path() / "hf", content),
      Contains("got \"a\" twice"));
}

TEST_CASE("power loss at any operation of an export leaves all or nothing",
          "[unit]") {
  const auto values = step_values(1, 5);
  HfFolder content;
  content.config_json = "{}";
  content.tensors = {tensor_of("a", values), tensor_of("b", values)};
  content.max_shard_bytes = 40;
  bool is_written = false;
  for (int n = 1; !is_written; ++n) {
    INFO("operation " << n);
    REQUIRE(n < 100);
    TemporaryFolder folder;
    const fs::path path = folder.path() / "hf";
    FaultyFileSystem files(Fault::kPowerLoss, n);
    try {
      write_hf_folder(files, path, content);
      is_written = true;
    } catch (const titan::DeviceError&) {
    }
    files.lose_unsynced();
    CHECK(fs::exists(path) == is_written);
    if (!is_written) write_hf_folder(real_file_system(), path, content);
    CHECK(SafetensorsFolder(path).tensors().size() == 2);
    CHECK(get_file(path / "config.json") == "{}");
    CHECK(names_in(folder.path()) == std::vector<std::string>{"hf"});
  }
}
