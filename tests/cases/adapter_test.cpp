// SPDX-License-Identifier: BSD-3-Clause
// Low-rank adapters in whole runs: what is trained, under which layouts, and
// what comes out of a checkpoint.
#include "core/train/adapter.h"

#include <catch2/catch.hpp>

#include "core/checkpoint/checkpoint_reader.h"
#include "core/train/run_saver.h"
#include "core/train/run_state.h"
#include "core/train/weights.h"
#include "tests/cases/small_run.h"

namespace titan::cases {
namespace {

const std::string kLora =
    "adapter={use: titan.lora, config: {rank: 2, alpha: 4}}";
const std::string kDora =
    "adapter={use: titan.lora, config: {rank: 2, alpha: 4, use_dora: true, "
    "targets: ['**.qkv_linear.*', '**.w1', '**.w3']}}";

void start_adapters(train::Training& training) {
  train::initialise_adapters(*training.model, *training.engine, 5);
}

bool is_adapter(const std::string& name) {
  return name.find("lora_") != std::string::npos;
}

}  // namespace

TEST_CASE("only adapters are trained, and only they have state") {
  std::map<std::string, at::Tensor> before;
  const RunFacts facts = SmallRun({kLora}).run(
      [&](train::Training& training) {
        start_adapters(training);
        for (const auto& part : training.engine->parts())
          before[part.parameter->fqn] = training.engine->master(part).clone();
      },
      [](train::Training& training) {
        for (size_t i = 0; i < training.engine->parts().size(); ++i)
          CHECK(training.optimizer->states(i).empty() !=
                is_adapter(training.engine->parts()[i].parameter->fqn));
      });
  // Seven linear layers in each of two blocks, A and B of each.
  int64_t adapters = 0;
  for (const auto& [name, value] : facts.parameters) {
    INFO(name);
    CHECK(at::equal(value, before.at(name)) != is_adapter(name));
    adapters += is_adapter(name) ? 1 : 0;
  }
  CHECK(adapters == 2 * 7 * 2);
  CHECK(facts.losses.back() < facts.losses.front());
}

TEST_CASE("adapters train alike under every layout") {
  const std::string adapter = GENERATE(as<std::string>{}, kLora, kDora);
  const Overrides common = {"training.steps=4", "precision=fp64", adapter};
  const RunFacts single = SmallRun(common).run(start_adapters);
  for (const char* mesh : {"parallel.dp_shard=2",
                           "parallel.dp_replicate=2",
                           "parallel.tp=2",
                           "parallel.pp=2",
                           "recompute=full"}) {
    INFO(adapter << ' ' << mesh);
    Overrides overrides = common;
    overrides.emplace_back(mesh);
    const RunFacts other = SmallRun(overrides).run(start_adapters);
    for (size_t i = 0; i < single.losses.size(); ++i) {
      CHECK(std::abs(other.losses[i] / single.losses[i] - 1) < 1e-12);
      CHECK(std::abs(other.norms[i] / single.norms[i] - 1) < 1e-10);
    }
    for (const auto& [name, value] : other.parameters) {
      if (!is_adapter(name)) continue;
      INFO(name);
      CHECK(relative_difference(value, single.parameters.at(name)) < 1e-9);
    }
  }
}

TEST_CASE("the lengths of rows that tp cuts are refused") {
  using Catch::Matchers::Contains;
  SmallRun run({"parallel.tp=2",
                "adapter={use: titan.lora, config: {use_dora: true, targets: "
                "['**.wo']}}"});
  CHECK_THROWS_WITH(
      run.run(start_adapters),
      Contains("[parallel.tp]") && Contains("wo.lora_magnitude_vector"));
}

TEST_CASE("an adapter gives its rank's memory back to what is frozen") {
  SmallRun run({kLora, "parallel.dp_shard=2"});
  run.run(start_adapters, [](train::Training& training) {
    int64_t trained = 0;
    for (const auto& part : training.engine->parts())
      if (part.parameter->is_trainable)
        trained += part.flat_end - part.flat_begin;
    // Two moments in fp32 of this rank's part of the adapters.
    TITAN_CHECK_EQ(training.optimizer->bytes_states(),
                   trained * 8,
                   "[cases] optimizer state");
  });
}

TEST_CASE("a checkpoint with adapters resumes, and a base one starts them") {
  const ScratchFolder scratch;
  const auto save = [&](const std::string& name) {
    return [&scratch, name](train::Training& training) {
      train::save_run(training,
                      checkpoint::real_file_system(),
                      scratch.path() / name,
                      train::RunRecord{});
    };
  };
  const RunFacts adapted = SmallRun({kLora, "parallel.dp_shard=2"})
                               .run(start_adapters, save("lora"));
  const RunFacts base = SmallRun({}).run([](train::Training&) {}, save("base"));
  SmallRun({kLora}).run([&](train::Training& training) {
    train::restore_run(
        training,
        checkpoint::CheckpointReader(scratch.path() / "lora/step_00000003"));
    for (const auto& part : training.engine->parts())
      CHECK(at::equal(training.engine->master(part),
                      adapted.parameters.at(part.parameter->fqn)));
    // The weights of a run without adapters leave them as they were.
    start_adapters(training);
    const auto loaded = train::load_weights(
        *training.model, *training.engine, scratch.path() / "base");
    CHECK_FALSE(loaded.has_adapters);
    for (const auto& part : training.engine->parts()) {
      const std::string& name = part.parameter->fqn;
      if (!is_adapter(name))
        CHECK(
            at::equal(training.engine->master(part), base.parameters.at(name)));
      else if (name.find("lora_B") != std::string::npos)
        CHECK(training.engine->master(part).abs().max().item<double>() == 0);
    }
  });
  // And the other way round: adapters that the recipe does not have.
  using Catch::Matchers::Contains;
  SmallRun plain({});
  CHECK_THROWS_WITH(plain.run([&](train::Training& training) {
    train::load_weights(
        *training.model, *training.engine, scratch.path() / "lora");
  }),
                    Contains("unexpected") && Contains("lora_A"));
}

TEST_CASE("settings of adapters that would do nothing are refused") {
  using Catch::Matchers::Contains;
  const auto refused = [](const std::string& adapter) {
    try {
      SmallRun run({"adapter=" + adapter});
      run.run();
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string("nothing was refused");
  };
  CHECK_THAT(refused("{use: titan.lora, config: {dropout: 0.1}}"),
             Contains("[adapter.config.dropout]") && Contains("expected 0"));
  CHECK_THAT(refused("{use: titan.lora, config: {rnak: 4}}"),
             Contains("adapter.config.rnak") && Contains("rank"));
  CHECK_THAT(refused("{use: titan.lorra}"), Contains("titan.lora"));
  CHECK_THAT(refused("{use: titan.lora, config: {targets: ['**.wx']}}"),
             Contains("pattern '**.wx'"));
}

}  // namespace titan::cases
