// SPDX-License-Identifier: BSD-3-Clause
// NaN and infinity: named where they first appeared, stopped before they reach
// the parameters, and kept for replay.
#include <catch2/catch.hpp>

#include "core/checkpoint/checkpoint_reader.h"
#include "core/checkpoint/safetensors_folder.h"
#include "tests/integration/tiny_run.h"

using namespace titan::integration;

namespace fs = std::filesystem;

namespace {

// A learning rate that throws the parameters to infinity in one update.
const Settings kExplodes = {"optimizer.config.lr=1e38",
                            "schedule.warmup_steps=0",
                            "checkpoint.interval=1000"};

// The last line of a log: the error.
std::string last_line(const std::string& log) {
  const size_t end = log.find_last_not_of('\n');
  const size_t start = log.rfind('\n', end);
  return log.substr(start + 1, end - start);
}

// A Hugging Face folder of the tiny model with one NaN in `name`.
fs::path poisoned_weights(const TinyRun& run, const std::string& name) {
  const Finished source =
      run.train({"training.steps=3",
                 "checkpoint.export_hf=true",
                 "run_folder=" + (run.folder() / "source").string()});
  INFO(source.err);
  REQUIRE(source.exit_code == 0);
  fs::path folder = run.folder() / "source" / "hf";
  const fs::path file = folder / "model.safetensors";
  std::string content = get_file(file);
  const titan::checkpoint::SafetensorsFolder weights(folder);
  const auto& view = weights.get(name);
  const size_t at = static_cast<size_t>(view.bytes.data() -
                                        weights.files().front().bytes().data());
  const std::uint32_t nan = 0x7fc00000;
  content.replace(at + 4, 4, reinterpret_cast<const char*>(&nan), 4);
  put_file(folder / "poisoned", content);
  fs::rename(folder / "poisoned", file);
  return folder;
}

}  // namespace

// Case UX-04.
TEST_CASE("a step that is not finite stops before the update and is replayable",
          "[integration]") {
  const TinyRun run;
  for (const char* precision : {"precision=fp32", "precision=bf16"}) {
    Settings settings = kExplodes;
    settings.emplace_back(precision);
    fs::remove_all(run.run());
    const Finished stopped = run.train(settings);
    INFO(stopped.err);
    REQUIRE(stopped.exit_code == 2);
    CHECK(stopped.out.empty());
    const std::string error = last_line(stopped.err);
    CHECK(error.starts_with("[step "));
    CHECK(error.find("expected a finite number; first seen: ") !=
          std::string::npos);
    CHECK(error.find("fp16") == std::string::npos);
    CHECK(error.find("scal") == std::string::npos);
    const auto saved = steps_in(run.run() / "non_finite");
    REQUIRE(saved.size() == 1);
    const fs::path replay =
        run.run() / "non_finite" /
        fs::path("step_0000000" + std::to_string(saved.front()));
    CHECK(error.find(replay.string()) != std::string::npos);
    const auto before = state_files(replay);
    const Finished again = run.train(settings, {"--resume", replay.string()});
    INFO(again.err);
    CHECK(again.exit_code == 2);
    CHECK(last_line(again.err) == error);
    CHECK(state_files(replay) == before);
  }
}

TEST_CASE("the parameter that holds the first NaN is named", "[integration]") {
  const TinyRun run;
  const fs::path weights =
      poisoned_weights(run, "model.layers.1.mlp.up_proj.weight");
  const Finished result = run.train({}, {"--from", weights.string()});
  INFO(result.err);
  CHECK(result.exit_code == 2);
  CHECK(says(result, "[step 1] loss is NaN"));
  CHECK(says(result, "NaN in the parameter layers.1.feed_forward."));
}

TEST_CASE("non_finite: skip leaves steps out, counts them and goes on",
          "[integration]") {
  const TinyRun run;
  const fs::path weights =
      poisoned_weights(run, "model.layers.1.mlp.up_proj.weight");
  const Finished result =
      run.train({"training.non_finite=skip"}, {"--from", weights.string()});
  INFO(result.err);
  CHECK(result.exit_code == 0);
  CHECK(says(result, "[step 12] loss is NaN"));
  CHECK(says(result, "Skipped."));
  // No step had a loss, and none is made up.
  CHECK(result.out == "final: step=12 train_loss=nan\n");
  CHECK(says(result, "not finite and skipped: 12 of 12 steps"));
  // The same answer from the stored result, which JSON keeps without NaN.
  CHECK(run.train({"training.non_finite=skip"}).out == result.out);
  const titan::checkpoint::CheckpointReader saved(run.checkpoint(12));
  CHECK(saved.manifest().state.trainer.find("\"skipped_steps\":12") !=
        std::string::npos);
}
