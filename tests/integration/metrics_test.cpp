// SPDX-License-Identifier: BSD-3-Clause
// What a run reports, and to whom: each sink gets each step, one that breaks
// stops nothing, and a run that learns from no token says so.
#include <sstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/integration/tiny_run.h"

using namespace titan::integration;

namespace fs = std::filesystem;

namespace {

// Records of a TensorBoard file (TFRecord: length, checksum, event, checksum)
// that hold the tag.
int num_events(const fs::path& folder, const std::string& tag) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string content = get_file(entry.path());
    size_t at = 0;
    while (at + 12 <= content.size()) {
      std::uint64_t length = 0;
      std::memcpy(&length, content.data() + at, sizeof(length));
      const std::string event = content.substr(at + 12, length);
      count += event.find(tag) != std::string::npos;
      at += 12 + length + 4;
    }
  }
  return count;
}

}  // namespace

TEST_CASE("JSON lines and TensorBoard both get every step", "[integration]") {
  const TinyRun run;
  const Finished result = run.train({"metrics.tensorboard=true"});
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(step_losses(run.run()).size() == 12);
  CHECK(num_events(run.run() / "tensorboard", "grad_norm") == 12);
}

TEST_CASE("a sink that breaks warns once and the run goes on",
          "[integration]") {
  const TinyRun run;
  fs::create_directories(run.run());
  // The one file that refuses every write, even root's.
  fs::create_symlink("/dev/full", run.run() / "metrics.jsonl");
  const Finished result = run.train({"metrics.tensorboard=true"});
  INFO(result.err);
  CHECK(result.exit_code == 0);
  CHECK(result.out.starts_with("final: step=12 "));
  const size_t warning = result.err.find("a record was not written");
  REQUIRE(warning != std::string::npos);
  CHECK(result.err.find("a record was not written", warning + 1) ==
        std::string::npos);
  CHECK(num_events(run.run() / "tensorboard", "grad_norm") == 12);
}

TEST_CASE("--json prints one object per logged step", "[integration]") {
  const TinyRun run;
  const Finished result = run.train({"metrics.interval=5"}, {"--json"});
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  std::vector<int> steps;
  double last_loss = 0;
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) {
    const auto object = nlohmann::json::parse(line);
    steps.push_back(object.at("step").get<int>());
    for (const char* key : {"loss", "grad_norm", "lr", "tokens_s"})
      CHECK(object.at(key).is_number());
    last_loss = object.at("loss").get<double>();
  }
  CHECK(steps == std::vector<int>{1, 5, 10, 12});
  // A finished run has no step to print: its result.
  const Finished again = run.train({"metrics.interval=5"}, {"--json"});
  CHECK(again.exit_code == 0);
  const auto final = nlohmann::json::parse(again.out);
  CHECK(final.at("final") == true);
  CHECK(final.at("step") == 12);
  CHECK(final.at("train_loss").get<double>() == last_loss);
}

// Case UX-03.
TEST_CASE("twenty steps without a target in a row are an error",
          "[integration]") {
  const TinyRun run;
  // Documents of one byte: no token has a next one.
  std::string lines;
  for (int line = 0; line < 1000; ++line) lines += "{\"text\": \"x\"}\n";
  put_file(run.folder() / "single.jsonl", lines);
  const Finished result =
      run.train({"data.use=jsonl",
                 "data.files=[\"${recipe_dir}/single.jsonl\"]",
                 "training.steps=100"});
  INFO(result.err);
  CHECK(result.exit_code == 2);
  CHECK(result.err.find("zero_target_steps_limit") != std::string::npos);
  CHECK(result.err.find("got none in 20 steps") != std::string::npos);
  CHECK(result.err.find("step 19/100") != std::string::npos);
  CHECK(result.err.find("step 21/100") == std::string::npos);
}
