// SPDX-License-Identifier: BSD-3-Clause
// A checkpoint belongs to no layout: saved under one, resumed under another.
#include <cmath>

#include <catch2/catch.hpp>

#include "tests/distributed/layout_run.h"

namespace titan::layout {

TEST_CASE("a checkpoint of FSDP resumes under TP, PP and on one rank") {
  // As in layout_equality_test.cpp: sums in another order, float64.
  constexpr double kTolerance = 1e-12;
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

}  // namespace titan::layout
