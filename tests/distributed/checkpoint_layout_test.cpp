// SPDX-License-Identifier: BSD-3-Clause
// A checkpoint belongs to no layout: saved under one, resumed under another.
#include <cmath>
#include <map>

#include <catch2/catch.hpp>

#include <titan/text.h>

#include "core/checkpoint/checkpoint_folder.h"
#include "core/checkpoint/checkpoint_reader.h"
#include "tests/distributed/layout_run.h"

namespace titan::layout {

TEST_CASE("a checkpoint of FSDP resumes under TP, PP and on one rank") {
  const RecipeFolder folder;
  const RunRecord whole =
      run(folder, {.num_steps = 4, .keeps_gradients = false});
  run(folder,
      {.axes = {{"dp_shard", 2}},
       .num_steps = 2,
       .keeps_gradients = false,
       .saves = true});
  for (const std::vector<dist::Axis>& axes : {std::vector<dist::Axis>{},
                                              {{"tp", 2}},
                                              {{"pp", 2}},
                                              {{"dp_shard", 2}}}) {
    CAPTURE(axes.empty() ? "one rank" : axes.front().name);
    const RunRecord resumed = run(folder,
                                  {.axes = axes,
                                   .num_steps = 2,
                                   .keeps_gradients = false,
                                   .resumes = true});
    for (size_t i = 0; i < 2; ++i) {
      const double expected = whole.steps[i + 2].loss;
      CHECK(std::abs(resumed.steps[i].loss - expected) <=
            kTolerance * expected);
    }
  }
}

// Case CKP-02: 257 rows that four ranks cannot share evenly.
TEST_CASE("a resumed run of uneven shards has the bits of the whole one") {
  const std::vector<std::string> overrides = {"model.config.vocab_size=257",
                                              "precision=fp32"};
  const std::vector<dist::Axis> axes = {{"dp_shard", 4}};
  const RecipeFolder folder;
  const RunRecord whole = run(folder,
                              {.overrides = overrides,
                               .axes = axes,
                               .num_steps = 20,
                               .keeps_gradients = false});
  run(folder,
      {.overrides = overrides,
       .axes = axes,
       .num_steps = 10,
       .keeps_gradients = false,
       .saves = true});
  const RunRecord resumed = run(folder,
                                {.overrides = overrides,
                                 .axes = axes,
                                 .num_steps = 10,
                                 .keeps_gradients = false,
                                 .resumes = true});
  for (size_t i = 0; i < 10; ++i) {
    CHECK(resumed.steps[i].loss == whole.steps[i + 10].loss);
    CHECK(resumed.steps[i].grad_norm == whole.steps[i + 10].grad_norm);
  }
}

TEST_CASE("after the first save of a run no rank waits for another") {
  const RecipeFolder folder;
  const std::vector<dist::Axis> axes = {{"dp_shard", 2}, {"tp", 2}};
  const RunRecord whole =
      run(folder, {.axes = axes, .num_steps = 4, .keeps_gradients = false});
  run(folder,
      {.axes = axes,
       .num_steps = 2,
       .keeps_gradients = false,
       .saves_in_turn = true});
  const RunRecord resumed = run(folder,
                                {.axes = axes,
                                 .num_steps = 2,
                                 .keeps_gradients = false,
                                 .resumes = true});
  for (size_t i = 0; i < 2; ++i)
    CHECK(resumed.steps[i].loss == whole.steps[i + 2].loss);
}

// Case CKP-19.
TEST_CASE("a checkpoint of four ranks resumes on one, two, three and six") {
  // 12 rows a step, so that each number of data ranks divides them.
  const std::vector<std::string> overrides = {"training.tokens_per_step=384",
                                              "data.lanes=12"};
  const RecipeFolder folder;
  const RunRecord whole =
      run(folder,
          {.overrides = overrides, .num_steps = 4, .keeps_gradients = false});
  run(folder,
      {.overrides = overrides,
       .axes = {{"dp_shard", 2}, {"tp", 2}},
       .num_steps = 2,
       .keeps_gradients = false,
       .saves = true});
  const std::vector<std::vector<dist::Axis>> layouts = {
      {},
      {{"dp_shard", 2}},
      {{"tp", 2}},
      {{"dp_replicate", 2}},
      {{"dp_shard", 3}},
      {{"dp_shard", 3}, {"tp", 2}},
      {{"dp_replicate", 3}, {"dp_shard", 2}},
      {{"pp", 2}, {"dp_shard", 3}}};
  for (const std::vector<dist::Axis>& axes : layouts) {
    std::string name = "layout";
    for (const dist::Axis& axis : axes) name += text(' ', axis.name, axis.size);
    CAPTURE(name);
    const RunRecord resumed = run(folder,
                                  {.overrides = overrides,
                                   .axes = axes,
                                   .num_steps = 2,
                                   .keeps_gradients = false,
                                   .resumes = true});
    for (size_t i = 0; i < 2; ++i) {
      const double expected = whole.steps[i + 2].loss;
      CHECK(std::abs(resumed.steps[i].loss - expected) <=
            kTolerance * expected);
    }
  }
}

TEST_CASE("every rank writes about its share, replicas included") {
  const RecipeFolder folder;
  for (const std::vector<dist::Axis>& axes :
       {std::vector<dist::Axis>{{"dp_shard", 4}},
        {{"dp_replicate", 4}},
        {{"dp_replicate", 2}, {"tp", 2}}}) {
    CAPTURE(axes.front().name);
    run(folder,
        {.axes = axes,
         .num_steps = 1,
         .keeps_gradients = false,
         .saves = true});
    const checkpoint::CheckpointReader reader(folder.checkpoints() /
                                              checkpoint::step_folder_name(1));
    std::map<std::string, int64_t> written;
    int64_t total = 0;
    for (const checkpoint::TensorRecord& tensor : reader.manifest().tensors) {
      const int64_t count = layout::num_elements(tensor.region);
      written[tensor.file.substr(tensor.file.find('-'))] += count;
      total += count;
    }
    REQUIRE(written.size() == 4);
    for (const auto& [file, count] : written) {
      CAPTURE(file, count, total);
      CHECK(count * 4 < total + total / 2);
    }
  }
}

}  // namespace titan::layout
