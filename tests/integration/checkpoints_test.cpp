// SPDX-License-Identifier: BSD-3-Clause
// Which checkpoint a run starts from: the newest whole one, the one that is
// named, weights alone; and how many stay.
#include <catch2/catch.hpp>
#include <signal.h>

#include "tests/integration/tiny_run.h"

using namespace titan::integration;

namespace fs = std::filesystem;

namespace {

void flip_a_byte(const fs::path& file) {
  std::string content = get_file(file);
  content[content.size() / 2] ^= 0x40;
  put_file(file, content);
}

}  // namespace

TEST_CASE("a corrupted newest checkpoint is passed over with its reason",
          "[integration]") {
  const TinyRun run;
  const Finished whole = run.train({});
  REQUIRE(whole.exit_code == 0);
  const auto files = state_files(run.checkpoint(12));
  flip_a_byte(run.checkpoint(12) / "model-rank0.safetensors");
  fs::resize_file(run.checkpoint(8) / "optimizer-rank0.safetensors", 1000);
  const Finished rest = run.train({});
  INFO(rest.err);
  CHECK(rest.exit_code == 0);
  CHECK(says(rest, "step_00000012/model-rank0.safetensors"));
  CHECK(says(rest, "step_00000008/optimizer-rank0.safetensors"));
  CHECK(says(rest, "Using the one before it."));
  CHECK(says(rest, "step_00000004 at step 4"));
  CHECK(rest.out == whole.out);
  // The run has replaced the damaged checkpoints by whole ones.
  CHECK(state_files(run.checkpoint(12)) == files);
  CHECK(fs::exists(run.checkpoints() / "step_00000012.previous"));
}

TEST_CASE("an older try in the same folder is neither resumed nor preferred",
          "[integration]") {
  const TinyRun run;
  const Settings settings = {"training.steps=200",
                             "checkpoint.interval=50",
                             "checkpoint.keep=1",
                             "metrics.interval=1"};
  REQUIRE(run.train(settings).exit_code == 0);
  REQUIRE(steps_in(run.checkpoints()) == std::vector<std::int64_t>{200});
  TitanProcess process(run.words(settings, {"--resume", "never"}));
  REQUIRE(process.wait_for_log("info    saved "));
  process.send(SIGKILL);
  CHECK(process.finish().signal == SIGKILL);
  const auto saved = steps_in(run.checkpoints());
  REQUIRE_FALSE(saved.empty());
  CHECK(saved.back() < 200);
  const Finished rest = run.train(settings);
  INFO(rest.err);
  CHECK(rest.exit_code == 0);
  CHECK(says(rest, " at step " + std::to_string(saved.back())));
  CHECK(fs::exists(run.checkpoints() / "step_00000200.previous"));
}

TEST_CASE("--resume DIR continues from that checkpoint", "[integration]") {
  const TinyRun run;
  const Finished whole = run.train({});
  REQUIRE(whole.exit_code == 0);
  const std::string elsewhere =
      "run_folder=" + (run.folder() / "elsewhere").string();
  SECTION("a checkpoint") {
    const Finished rest =
        run.train({elsewhere}, {"--resume", run.checkpoint(8).string()});
    INFO(rest.err);
    CHECK(rest.exit_code == 0);
    CHECK(says(rest, "step_00000008 at step 8"));
    CHECK(rest.out == whole.out);
    CHECK(state_files(run.folder() / "elsewhere/checkpoint/step_00000012") ==
          state_files(run.checkpoint(12)));
  }
  SECTION("the newest of a folder of checkpoints") {
    run.cut_after(8);
    const Finished rest =
        run.train({elsewhere}, {"--resume", run.checkpoints().string()});
    INFO(rest.err);
    CHECK(rest.exit_code == 0);
    CHECK(says(rest, "step_00000008 at step 8"));
    CHECK(rest.out == whole.out);
  }
}

TEST_CASE("--resume without a checkpoint is an error", "[integration]") {
  const TinyRun run;
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{"--resume"},
        {"--resume", "required"},
        {"--resume", (run.folder() / "none").string()}}) {
    const Finished result = run.train({}, options);
    INFO(result.err);
    CHECK(result.exit_code == 2);
    CHECK(says(result, "[--resume] "));
    CHECK(says(result, "expected a complete checkpoint, got none"));
  }
  CHECK_FALSE(fs::exists(run.run()));
}

TEST_CASE("--resume never starts anew and sets the old log aside",
          "[integration]") {
  const TinyRun run;
  const Finished first = run.train({});
  const Finished second = run.train({}, {"--resume", "never"});
  INFO(second.err);
  CHECK(second.exit_code == 0);
  CHECK(second.out == first.out);
  CHECK(step_losses(run.run()).size() == 12);
  CHECK(fs::exists(run.run() / "metrics.jsonl.previous"));
}

TEST_CASE("--from and checkpoint.initial take weights and nothing else",
          "[integration]") {
  const TinyRun run;
  const Settings validated = {"data.validation_fraction=0.1",
                              "validation.at_end=true",
                              "optimizer.config.lr=0",
                              "optimizer.config.weight_decay=0"};
  Settings trained = {"data.validation_fraction=0.1",
                      "validation.at_end=true",
                      "checkpoint.export_hf=true"};
  const Finished source = run.train(trained);
  INFO(source.err);
  REQUIRE(source.exit_code == 0);
  const std::string loss = validation_loss(source);
  REQUIRE_FALSE(loss.empty());
  // One step at learning rate 0 leaves the weights, so the validation loss is
  // that of the source.
  const auto start = [&](const std::string& name,
                         Settings settings,
                         const std::vector<std::string>& options) {
    settings.insert(settings.end(), validated.begin(), validated.end());
    settings.insert(settings.end(),
                    {"training.steps=1",
                     "schedule.warmup_steps=0",
                     "run_folder=" + (run.folder() / name).string()});
    const Finished result = run.train(settings, options);
    INFO(result.err);
    CHECK(result.exit_code == 0);
    CHECK(result.out.starts_with("final: step=1 "));
    CHECK(validation_loss(result) == loss);
  };
  start("titan", {}, {"--from", run.checkpoint(12).string()});
  start("newest", {}, {"--from", run.checkpoints().string()});
  start("hf", {}, {"--from", (run.run() / "hf").string()});
  start("initial", {"checkpoint.initial=" + run.checkpoint(12).string()}, {});
}

TEST_CASE("--from with a folder that holds no weights is an error",
          "[integration]") {
  const TinyRun run;
  const Finished result = run.train({}, {"--from", run.folder().string()});
  INFO(result.err);
  CHECK(result.exit_code == 2);
  CHECK(says(result, run.folder().string()));
}

TEST_CASE("a checkpoint of another model is refused by name", "[integration]") {
  const TinyRun run;
  REQUIRE(run.train({"training.steps=4"}).exit_code == 0);
  const Finished result = run.train({"model.config.hidden_dim=96"});
  INFO(result.err);
  CHECK(result.exit_code == 2);
  CHECK(says(result, "layers.0.feed_forward"));
  CHECK(says(result, "shape: expected"));
}

TEST_CASE("checkpoint.keep leaves the newest ones", "[integration]") {
  const TinyRun run;
  const Finished result =
      run.train({"checkpoint.keep=2", "checkpoint.interval=1"});
  CHECK(result.exit_code == 0);
  CHECK(steps_in(run.checkpoints()) == std::vector<std::int64_t>{11, 12});
}
