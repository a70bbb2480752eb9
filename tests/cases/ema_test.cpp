// SPDX-License-Identifier: BSD-3-Clause
// Averages of weights in whole runs: the same under any layout, and through a
// checkpoint into another one.
#include <catch2/catch.hpp>

#include "core/checkpoint/checkpoint_reader.h"
#include "core/train/run_saver.h"
#include "core/train/run_settings.h"
#include "core/train/run_state.h"
#include "tests/cases/small_run.h"

namespace titan::cases {
namespace {

using Averages = std::map<std::string, at::Tensor>;

const Overrides kAveraged = {"training.steps=4",
                             "ema={decay: 0.8, start: 1}",
                             "optimizer.groups=[{match: tok_embeddings.*, "
                             "frozen: true}]"};

// Whole tensors on every rank. Collective.
Averages gather(const train::Training& training) {
  Averages averages;
  const auto& parts = training.engine->parts();
  for (size_t i = 0; i < parts.size(); ++i)
    if (const at::Tensor value = training.ema->value(i); value.defined())
      averages[parts[i].parameter->fqn] =
          training.engine->gather(parts[i], value).clone();
  return averages;
}

Overrides averaged_with(const std::string& mesh) {
  Overrides overrides = kAveraged;
  overrides.push_back(mesh);
  return overrides;
}

Averages averages_of(const std::string& mesh,
                     const std::filesystem::path& folder) {
  Averages averages;
  SmallRun(averaged_with(mesh))
      .run([](train::Training& training) { training.ema->reset(); },
           [&](train::Training& training) {
             const Averages mine = gather(training);
             if (training.mesh.rank() == 0) averages = mine;
             if (!folder.empty())
               train::save_run(training,
                               checkpoint::real_file_system(),
                               folder,
                               train::RunRecord{});
           });
  return averages;
}

}  // namespace

TEST_CASE("averages of sharded, cut and single runs are the same") {
  const Averages single = averages_of("parallel.dp_shard=1", {});
  CHECK(single.count("tok_embeddings.weight") == 0);
  for (const char* mesh : {"parallel.dp_shard=2", "parallel.tp=2"}) {
    const Averages other = averages_of(mesh, {});
    REQUIRE(other.size() == single.size());
    for (const auto& [name, value] : single) {
      INFO(mesh << ' ' << name);
      CHECK(relative_difference(other.at(name), value) < 1e-5);
    }
  }
}

TEST_CASE("saved averages come back bit for bit under another layout") {
  const ScratchFolder scratch;
  const std::filesystem::path folder = scratch.path() / "checkpoint";
  const Averages saved = averages_of("parallel.dp_shard=2", folder);
  REQUIRE(saved.size() > 10);
  for (const char* mesh : {"parallel.dp_shard=1",
                           "parallel.tp=2",
                           "parallel.dp_replicate=2",
                           "parallel.dp_shard=4"}) {
    INFO(mesh);
    Averages restored;
    SmallRun(averaged_with(mesh)).run([&](train::Training& training) {
      train::restore_run(
          training, checkpoint::CheckpointReader(folder / "step_00000004"));
      const Averages mine = gather(training);
      if (training.mesh.rank() == 0) restored = mine;
    });
    REQUIRE(restored.size() == saved.size());
    for (const auto& [name, value] : saved) {
      INFO(name);
      CHECK(at::equal(restored.at(name), value));
    }
  }
}

TEST_CASE("a run that averages does not resume from one that did not") {
  using Catch::Matchers::Contains;
  const ScratchFolder scratch;
  SmallRun plain({"training.steps=2"});
  plain.run([](train::Training&) {},
            [&](train::Training& training) {
              train::save_run(training,
                              checkpoint::real_file_system(),
                              scratch.path() / "checkpoint",
                              train::RunRecord{});
            });
  SmallRun averaged(averaged_with("parallel.dp_shard=1"));
  CHECK_THROWS_WITH(averaged.run([&](train::Training& training) {
    train::restore_run(training,
                       checkpoint::CheckpointReader(
                           scratch.path() / "checkpoint/step_00000002"));
  }),
                    Contains("[ema.decay]") && Contains("--from"));
}

TEST_CASE("keys of the average are refused where they would do nothing") {
  using Catch::Matchers::Contains;
  const auto refused = [](const Overrides& overrides) {
    try {
      SmallRun run(overrides);
      train::read_run_settings(run.session().recipe());
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string("nothing was refused");
  };
  CHECK_THAT(refused({"ema={decay: 0.9, validate: true}"}),
             Contains("[ema.validate]") && Contains("there is no validation"));
  CHECK_THAT(refused({"ema={decay: 0.9, export: true}"}),
             Contains("[ema.export]") && Contains("there is no export"));
  CHECK_THAT(refused({"ema.decay=1.0"}), Contains("[ema.decay]"));
}

}  // namespace titan::cases
