// SPDX-License-Identifier: BSD-3-Clause

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/unit/core/checkpoint/saved_step.h"
#include "tests/unit/core/checkpoint/temporary_folder.h"
#include "tests/unit/core/cli/captured_run.h"

using Catch::Contains;
using Json = nlohmann::json;
using titan::checkpoint::real_file_system;

using titan::cli::CapturedRun;
using titan::cli::run_captured;

namespace {

CapturedRun run_checkpoint(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "checkpoint");
  return run_captured(arguments);
}

void damage(const std::filesystem::path& file) {
  std::string content = get_file(file);
  content.back() = static_cast<char>(content.back() ^ 1);
  put_file(file, content);
}

}  // namespace

TEST_CASE("checkpoint inspect shows the newest of a folder", "[unit]") {
  TemporaryFolder folder;
  save_step(real_file_system(), folder.path(), 1);
  save_step(real_file_system(), folder.path(), 2);
  const CapturedRun text =
      run_checkpoint({"inspect", folder.path().string(), "--tensors"});
  CHECK(text.exit_code == 0);
  CHECK_THAT(text.out, Contains("step        2\n"));
  CHECK_THAT(text.out,
             Contains("role        model: 1 tensors, 100 elements, 800 bytes, "
                      "(I64)\n"));
  CHECK_THAT(text.out,
             Contains("tensor      optimizer/exp_avg layers.0.weight I64 (100) "
                      "offset (0) extent (100) in optimizer-rank0"));
  const CapturedRun object =
      run_checkpoint({"inspect", folder.path().string(), "--json"});
  const Json parsed = Json::parse(object.out);
  CHECK(parsed["step"] == 2);
  CHECK(parsed["roles"]["model"]["bytes"] == 800);
  CHECK(parsed["trainer"]["step"] == 2);
}

TEST_CASE("checkpoint inspect passes damaged ones over aloud", "[unit]") {
  TemporaryFolder folder;
  save_step(real_file_system(), folder.path(), 1);
  save_step(real_file_system(), folder.path(), 2);
  damage(folder.path() / "step_00000002" / "model-rank0.safetensors");
  const CapturedRun outcome =
      run_checkpoint({"inspect", folder.path().string()});
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, Contains("step        1\n"));
  CHECK_THAT(outcome.err, Contains("passed over: [checkpoint "));
}

TEST_CASE("checkpoint verify exits 2 and names the damage", "[unit]") {
  TemporaryFolder folder;
  save_step(real_file_system(), folder.path(), 1);
  save_step(real_file_system(), folder.path(), 2);
  CHECK(run_checkpoint({"verify", folder.path().string()}).exit_code == 0);
  damage(folder.path() / "step_00000002" / "model-rank0.safetensors");
  const CapturedRun text = run_checkpoint({"verify", folder.path().string()});
  CHECK(text.exit_code == 2);
  CHECK_THAT(text.out, Contains("step_00000001: good\n"));
  CHECK_THAT(text.out, Contains("step_00000002: damaged\n"));
  CHECK_THAT(text.out, Contains("file is damaged: expected checksum"));
  const CapturedRun object =
      run_checkpoint({"verify", folder.path().string(), "--json"});
  CHECK(Json::parse(object.out)["good"] == false);
  const std::string good = (folder.path() / "step_00000001").string();
  CHECK(run_checkpoint({"verify", good}).exit_code == 0);
}

TEST_CASE("checkpoint diff exits 1 where the two differ", "[unit]") {
  TemporaryFolder folder;
  save_step(real_file_system(), folder.path(), 1);
  save_step(real_file_system(), folder.path(), 2);
  const std::string one = (folder.path() / "step_00000001").string();
  const std::string two = (folder.path() / "step_00000002").string();
  CHECK(run_checkpoint({"diff", one, one}).exit_code == 0);
  const CapturedRun text = run_checkpoint({"diff", one, two});
  CHECK(text.exit_code == 1);
  CHECK_THAT(text.out,
             Contains("model layers.0.weight: 100 of 100 elements differ, max "
                      "abs 1e+06"));
  CHECK_THAT(text.out, Contains("trainer differs"));
  const CapturedRun object = run_checkpoint({"diff", one, two, "--json"});
  CHECK(Json::parse(object.out)["tensors"].size() == 2);
}

TEST_CASE("checkpoint prune deletes only when it is not a dry run", "[unit]") {
  TemporaryFolder folder;
  for (int step = 1; step <= 3; ++step)
    save_step(real_file_system(), folder.path(), step);
  const std::string path = folder.path().string();
  CHECK_THAT(run_checkpoint({"prune", path, "--keep", "1", "--dry-run"}).out,
             Contains("would remove " + path + "/step_00000002"));
  CHECK(real_file_system().list(path).size() == 3);
  const CapturedRun object =
      run_checkpoint({"prune", path, "--keep", "1", "--json"});
  CHECK(Json::parse(object.out)["removed"].size() == 2);
  CHECK(real_file_system().list(path).size() == 1);
}

TEST_CASE("checkpoint command refuses folders without checkpoints", "[unit]") {
  TemporaryFolder folder;
  const std::string path = folder.path().string();
  for (const char* action : {"inspect", "verify"}) {
    const CapturedRun outcome = run_checkpoint({action, path});
    CHECK(outcome.exit_code == 2);
    CHECK_THAT(outcome.err, Contains("expected a checkpoint or a folder"));
  }
  CHECK(run_checkpoint({"prune", path, "--keep", "0"}).exit_code == 2);
  CHECK(run_checkpoint({"prune", path + "/no", "--keep", "1"}).exit_code == 2);
  CHECK(run_checkpoint({}).exit_code == 2);
}

TEST_CASE("checkpoint prune keeps milestones", "[unit]") {
  TemporaryFolder folder;
  for (std::int64_t step = 1; step <= 6; ++step)
    save_step(real_file_system(), folder.path(), step);
  const CapturedRun object = run_checkpoint({"prune",
                                             folder.path().string(),
                                             "--keep",
                                             "1",
                                             "--keep-every",
                                             "2",
                                             "--json"});
  CHECK(object.exit_code == 0);
  CHECK(Json::parse(object.out)["removed"].size() == 3);
  CHECK(real_file_system().list(folder.path()).size() == 3);
}

TEST_CASE("every checkpoint command shows an example", "[unit]") {
  for (const char* command : {"inspect", "verify", "diff", "prune"})
    CHECK_THAT(run_checkpoint({command, "--help"}).out,
               Contains(std::string("Example: titan checkpoint ") + command));
}
