// SPDX-License-Identifier: BSD-3-Clause
#include <iostream>
#include <sstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/cli/run_titan.h"
#include "tests/unit/core/checkpoint/saved_step.h"
#include "tests/unit/core/checkpoint/temporary_folder.h"

using Catch::Contains;
using nlohmann::json;
using titan::checkpoint::real_file_system;

namespace {

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

// Commands print to std::cout and std::cerr.
Outcome run(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "checkpoint");
  std::ostringstream out;
  std::ostringstream err;
  std::streambuf* const cout = std::cout.rdbuf(out.rdbuf());
  std::streambuf* const cerr = std::cerr.rdbuf(err.rdbuf());
  const int code = titan::cli::run_titan(std::move(arguments), out, err);
  std::cout.rdbuf(cout);
  std::cerr.rdbuf(cerr);
  return {code, out.str(), err.str()};
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
  const Outcome text = run({"inspect", folder.path().string(), "--tensors"});
  CHECK(text.code == 0);
  CHECK_THAT(text.out, Contains("step        2\n"));
  CHECK_THAT(text.out,
             Contains("role        model: 1 tensors, 100 elements, 800 bytes, "
                      "(I64)\n"));
  CHECK_THAT(text.out,
             Contains("tensor      optimizer/exp_avg layers.0.weight I64 (100) "
                      "offset (0) extent (100) in optimizer-rank0"));
  const Outcome object = run({"inspect", folder.path().string(), "--json"});
  const json parsed = json::parse(object.out);
  CHECK(parsed["step"] == 2);
  CHECK(parsed["roles"]["model"]["bytes"] == 800);
  CHECK(parsed["trainer"]["step"] == 2);
}

TEST_CASE("checkpoint inspect passes damaged ones over aloud", "[unit]") {
  TemporaryFolder folder;
  save_step(real_file_system(), folder.path(), 1);
  save_step(real_file_system(), folder.path(), 2);
  damage(folder.path() / "step_00000002" / "model-rank0.safetensors");
  const Outcome outcome = run({"inspect", folder.path().string()});
  CHECK(outcome.code == 0);
  CHECK_THAT(outcome.out, Contains("step        1\n"));
  CHECK_THAT(outcome.err, Contains("passed over: [checkpoint "));
}

TEST_CASE("checkpoint verify exits 2 and names the damage", "[unit]") {
  TemporaryFolder folder;
  save_step(real_file_system(), folder.path(), 1);
  save_step(real_file_system(), folder.path(), 2);
  CHECK(run({"verify", folder.path().string()}).code == 0);
  damage(folder.path() / "step_00000002" / "model-rank0.safetensors");
  const Outcome text = run({"verify", folder.path().string()});
  CHECK(text.code == 2);
  CHECK_THAT(text.out, Contains("step_00000001: good\n"));
  CHECK_THAT(text.out, Contains("step_00000002: damaged\n"));
  CHECK_THAT(text.out, Contains("file is damaged: expected checksum"));
  const Outcome object = run({"verify", folder.path().string(), "--json"});
  CHECK(json::parse(object.out)["good"] == false);
  const std::string good = (folder.path() / "step_00000001").string();
  CHECK(run({"verify", good}).code == 0);
}

TEST_CASE("checkpoint diff exits 1 where the two differ", "[unit]") {
  TemporaryFolder folder;
  save_step(real_file_system(), folder.path(), 1);
  save_step(real_file_system(), folder.path(), 2);
  const std::string one = (folder.path() / "step_00000001").string();
  const std::string two = (folder.path() / "step_00000002").string();
  CHECK(run({"diff", one, one}).code == 0);
  const Outcome text = run({"diff", one, two});
  CHECK(text.code == 1);
  CHECK_THAT(text.out,
             Contains("model layers.0.weight: 100 of 100 elements differ, max "
                      "abs 1e+06"));
  CHECK_THAT(text.out, Contains("trainer differs"));
  const Outcome object = run({"diff", one, two, "--json"});
  CHECK(json::parse(object.out)["tensors"].size() == 2);
}

TEST_CASE("checkpoint prune deletes only when it is not a dry run", "[unit]") {
  TemporaryFolder folder;
  for (int step = 1; step <= 3; ++step)
    save_step(real_file_system(), folder.path(), step);
  const std::string path = folder.path().string();
  CHECK_THAT(run({"prune", path, "--keep", "1", "--dry-run"}).out,
             Contains("would remove " + path + "/step_00000002"));
  CHECK(real_file_system().list(path).size() == 3);
  const Outcome object = run({"prune", path, "--keep", "1", "--json"});
  CHECK(json::parse(object.out)["removed"].size() == 2);
  CHECK(real_file_system().list(path).size() == 1);
}

TEST_CASE("checkpoint command refuses folders without checkpoints", "[unit]") {
  TemporaryFolder folder;
  const std::string path = folder.path().string();
  for (const char* action : {"inspect", "verify"}) {
    const Outcome outcome = run({action, path});
    CHECK(outcome.code == 2);
    CHECK_THAT(outcome.err, Contains("expected a checkpoint or a folder"));
  }
  CHECK(run({"prune", path, "--keep", "0"}).code == 2);
  CHECK(run({"prune", path + "/no", "--keep", "1"}).code == 2);
  CHECK(run({}).code == 2);
}

TEST_CASE("checkpoint prune keeps milestones", "[unit]") {
  TemporaryFolder folder;
  for (std::int64_t step = 1; step <= 6; ++step)
    save_step(real_file_system(), folder.path(), step);
  const Outcome object = run({"prune",
                              folder.path().string(),
                              "--keep",
                              "1",
                              "--keep-every",
                              "2",
                              "--json"});
  CHECK(object.code == 0);
  CHECK(json::parse(object.out)["removed"].size() == 3);
  CHECK(real_file_system().list(folder.path()).size() == 3);
}

TEST_CASE("every checkpoint command shows an example", "[unit]") {
  for (const char* command : {"inspect", "verify", "diff", "prune"})
    CHECK_THAT(run({command, "--help"}).out,
               Contains(std::string("Example: titan checkpoint ") + command));
}
