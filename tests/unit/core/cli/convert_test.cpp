// SPDX-License-Identifier: BSD-3-Clause
// Weights that go from form to form and come back are the same bytes.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/unit/core/checkpoint/temporary_folder.h"
#include "tests/unit/core/cli/captured_run.h"

namespace titan::cli {
namespace {

using Catch::Contains;

const std::string kGolden = TITAN_SOURCE_DIR "/tests/golden/llama3";
const std::string kTorch = TITAN_SOURCE_DIR "/tests/golden/torch_save/";

CapturedRun convert(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "convert");
  return run_captured(arguments);
}

}  // namespace

TEST_CASE("hf to torch and back keeps every byte", "[unit]") {
  TemporaryFolder folder;
  const std::string file = (folder.path() / "model.pt").string();
  const std::string back = (folder.path() / "back").string();
  const CapturedRun there = convert({kGolden, file, "--to", "torch"});
  INFO(there.err);
  REQUIRE(there.exit_code == 0);
  const CapturedRun again =
      convert({file, back, "--to", "hf", "--config", kGolden, "--json"});
  INFO(again.err);
  REQUIRE(again.exit_code == 0);
  CHECK(nlohmann::json::parse(again.out)["from"] == "torch");
  CHECK(get_file(back + "/model.safetensors") ==
        get_file(kGolden + "/model.safetensors"));
  CHECK(get_file(back + "/config.json") == get_file(kGolden + "/config.json"));
}

TEST_CASE("convert casts, shards and says so in the config", "[unit]") {
  TemporaryFolder folder;
  const std::string out = (folder.path() / "out").string();
  const CapturedRun run = convert(
      {kGolden, out, "--to", "hf", "--dtype", "bf16", "--shard-size", "100KB"});
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK(std::filesystem::exists(out + "/model.safetensors.index.json"));
  const auto config = nlohmann::json::parse(get_file(out + "/config.json"));
  const bool is_new = config.contains("dtype");
  CHECK(config[is_new ? "dtype" : "torch_dtype"] == "bfloat16");
  const CapturedRun twice = convert({kGolden, out, "--to", "hf"});
  CHECK(twice.exit_code == 2);
  CHECK_THAT(twice.err, Contains("does not exist"));
}

TEST_CASE("convert refuses options that would do nothing", "[unit]") {
  TemporaryFolder folder;
  const std::string out = (folder.path() / "out").string();
  const auto refused = [&](std::vector<std::string> options,
                           const std::string& text) {
    options.insert(options.begin(), {kGolden, out});
    const CapturedRun run = convert(options);
    CHECK(run.exit_code == 2);
    CHECK_THAT(run.err, Contains(text));
    CHECK_FALSE(std::filesystem::exists(out));
  };
  refused({"--to", "hf", "--key", "model"}, "expected IN to be a torch file");
  refused({"--to", "hf", "--plugin", "./any.so"}, "got hf to hf");
  refused({"--to", "torch", "--shard-size", "1MB"}, "got --to torch");
}

TEST_CASE("convert takes a part of a torch file and a dcp folder", "[unit]") {
  TemporaryFolder folder;
  const std::string out = (folder.path() / "a").string();
  CHECK(convert({kTorch + "training.pt", out, "--to", "hf", "--key", "model"})
            .exit_code == 0);
  CHECK_THAT(get_file(out + "/model.safetensors"), Contains("\"a.w\""));
  const CapturedRun dcp = convert({kTorch + "dcp_sharded",
                                   (folder.path() / "b").string(),
                                   "--to",
                                   "hf",
                                   "--json"});
  CHECK(dcp.exit_code == 0);
  CHECK_THAT(dcp.out, Contains("\"from\":\"dcp\""));
  CHECK_THAT(dcp.out, Contains("\"bytes\":280"));
  const CapturedRun attack = convert(
      {kTorch + "attack.pt", (folder.path() / "c").string(), "--to", "hf"});
  CHECK(attack.exit_code == 2);
  CHECK_THAT(attack.err, Contains("posix.system"));
  CHECK(!std::filesystem::exists(folder.path() / "c"));
}

}  // namespace titan::cli
