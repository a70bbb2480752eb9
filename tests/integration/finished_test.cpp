// SPDX-License-Identifier: BSD-3-Clause
// Calling a finished run again: the same answer at once, nothing written; and
// more steps go on from its end.
#include <catch2/catch.hpp>

#include "tests/integration/tiny_run.h"

using namespace titan::integration;

namespace fs = std::filesystem;

namespace {

// Every file below the folder with what it holds and when it was written.
std::map<std::string, std::pair<fs::file_time_type, std::string>> snapshot(
    const fs::path& folder) {
  std::map<std::string, std::pair<fs::file_time_type, std::string>> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    files[entry.path().string()] = {
        entry.last_write_time(),
        entry.is_regular_file() ? get_file(entry.path()) : ""};
  return files;
}

}  // namespace

TEST_CASE("a finished run answers again without work or writes",
          "[integration]") {
  const TinyRun run;
  const Settings settings = {"data.validation_fraction=0.1",
                             "validation.at_end=true",
                             "checkpoint.export_hf=true",
                             "metrics.tensorboard=true",
                             "generate.at_end=true",
                             "generate.prompt=Line ",
                             "generate.max_tokens=8"};
  const Finished first = run.train(settings);
  INFO(first.err);
  REQUIRE(first.exit_code == 0);
  REQUIRE(
      line_with(first.out, "final: step=12 train_loss=").find(" val_loss=") !=
      std::string::npos);
  REQUIRE(line_with(first.out, "--- sample") == "--- sample");
  const auto before = snapshot(run.run());
  const Finished again = run.train(settings);
  INFO(again.err);
  CHECK(again.exit_code == 0);
  CHECK(again.out == first.out);
  CHECK(again.err.find("step 1/12") == std::string::npos);
  CHECK(snapshot(run.run()) == before);
}

TEST_CASE("more steps extend a finished run", "[integration]") {
  const TinyRun run;
  REQUIRE(run.train({}).exit_code == 0);
  const Finished more = run.train({"training.steps=16"});
  INFO(more.err);
  CHECK(more.exit_code == 0);
  CHECK(more.out.starts_with("final: step=16 "));
  CHECK(more.err.find("resumed from") != std::string::npos);
  CHECK(step_losses(run.run()).size() == 16);
  CHECK(steps_in(run.checkpoints()) == std::vector<std::int64_t>{4, 8, 12, 16});
}
