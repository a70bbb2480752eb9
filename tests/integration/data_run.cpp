// SPDX-License-Identifier: BSD-3-Clause
#include "tests/integration/data_run.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/checkpoint/checkpoint_reader.h"
#include "core/data/stream.h"

namespace titan::integration {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kSteps = 40;

// 8 microbatches of two rows a step; no schedule that knows the last step.
Settings settings_of(const Settings& data, std::int64_t last_step) {
  Settings all = {"training.tokens_per_step=256",
                  "data.lanes=8",
                  "schedule.decay=none",
                  "training.steps=" + std::to_string(last_step)};
  all.insert(all.end(), data.begin(), data.end());
  return all;
}

void train(const TinyRun& run,
           Settings settings,
           int num_ranks,
           const std::vector<std::string>& more = {}) {
  settings.insert(settings.end(), more.begin(), more.end());
  std::vector<std::string> options;
  if (num_ranks > 1) options = {"--sim-ranks", std::to_string(num_ranks)};
  if (num_ranks == 4) settings.emplace_back("parallel.dp_replicate=2");
  const Finished finished = run.train(settings, options);
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
}

std::map<std::int64_t, Json> metrics_of(const TinyRun& run) {
  std::map<std::int64_t, Json> by_step;
  std::istringstream lines(get_file(run.run() / "metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const Json values = Json::parse(line);
    if (values.contains("loss")) by_step[values.at("step")] = values;
  }
  return by_step;
}

// Where all lanes stand after the last step, whatever ranks they were of.
std::string position(const TinyRun& run) {
  const checkpoint::CheckpointReader reader(run.checkpoint(kSteps));
  std::vector<std::string> states;
  for (const std::string& state : reader.manifest().rank_states)
    if (state != "{}") states.push_back(state);
  return DataStream::merge(states);
}

}  // namespace

std::vector<Settings> unlike_data() {
  const std::string lines = "\"${recipe_dir}/lines.jsonl\"";
  const std::string text = "\"${recipe_dir}/text.txt\"";
  const std::string both = "data.sources=[{use: jsonl, files: [" + lines +
                           "], weight: 2}, {use: text, files: [" + text + "]}]";
  return {{both, "data.files=null", "data.shuffle_buffer=300"},
          {"data.use=jsonl",
           "data.files=[" + lines + "]",
           "data.packing=best_fit",
           "data.shuffle_buffer=200"}};
}

std::size_t check_resumes_bit_identically(const Settings& data) {
  const TinyRun straight, stopped;
  train(straight, settings_of(data, kSteps), 2);
  for (const std::int64_t last : {13, 26, 40})
    train(stopped, settings_of(data, last), 2);
  const auto losses = step_losses(straight.run());
  CHECK(step_losses(stopped.run()) == losses);
  CHECK(state_files(stopped.checkpoint(kSteps)) ==
        state_files(straight.checkpoint(kSteps)));
  CHECK(position(stopped) == position(straight));
  return losses.size();
}

std::size_t check_ranks_in_turn(const Settings& data) {
  const TinyRun straight, turned;
  const Settings fp64 = {"precision=fp64"};
  train(straight, settings_of(data, kSteps), 1, fp64);
  train(turned, settings_of(data, 13), 1, fp64);
  train(turned, settings_of(data, 26), 2, fp64);
  train(turned, settings_of(data, kSteps), 4, fp64);
  const auto expected = metrics_of(straight);
  const auto got = metrics_of(turned);
  REQUIRE(got.size() == expected.size());
  for (const auto& [step, values] : expected) {
    INFO(step);
    CHECK(got.at(step).at("loss").get<double>() ==
          Approx(values.at("loss").get<double>()).epsilon(1e-11));
    CHECK(got.at(step).at("targets") == values.at("targets"));
  }
  CHECK(position(turned) == position(straight));
  return expected.size();
}

}  // namespace titan::integration
