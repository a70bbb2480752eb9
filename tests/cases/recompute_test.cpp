// SPDX-License-Identifier: BSD-3-Clause
// Activations kept or computed again: the same bits.
#include <catch2/catch.hpp>

#include "tests/cases/small_run.h"

namespace titan::cases {
namespace {

int64_t count_op_calls(const module::ModuleTree& tree) {
  int64_t calls = 0;
  for (const auto& module : tree.modules()) {
    if (module->leaf_site)
      calls += module->leaf_site->slot.counters().num_calls;
    for (const auto& site : module->sites)
      calls += site->slot.counters().num_calls;
  }
  return calls;
}

struct Recomputed {
  RunFacts facts;
  int64_t op_calls = 0;
};

Recomputed run_with(const Overrides& overrides) {
  Recomputed result;
  result.facts = SmallRun(overrides).run(
      [](train::Training&) {},
      [&](train::Training& training) {
        if (training.mesh.rank() == 0)
          result.op_calls = count_op_calls(training.model->tree());
      });
  return result;
}

}  // namespace

// Case NUM-15, as far as there is no dropout yet.
TEST_CASE("every recompute mode gives the same bits, and is done") {
  const std::string precision = GENERATE(as<std::string>{}, "fp32", "bf16");
  const std::string mesh =
      GENERATE(as<std::string>{}, "parallel.dp_shard=1", "parallel.dp_shard=2");
  INFO(precision << ' ' << mesh);
  const Overrides base = {
      "precision=" + precision, mesh, "training.tokens_per_microbatch=64"};
  const auto with = [&](std::initializer_list<std::string> more) {
    Overrides overrides = base;
    overrides.insert(overrides.end(), more);
    return run_with(overrides);
  };
  const Recomputed kept = with({});
  const Recomputed full = with({"recompute=full"});
  const Recomputed selective =
      with({"recompute={mode: selective, save_ops: [titan.attention/1]}"});
  CHECK(equal_bits(full.facts, kept.facts));
  CHECK(equal_bits(selective.facts, kept.facts));
  // A second forward is really made.
  CHECK(full.op_calls > kept.op_calls * 3 / 2);
  CHECK(selective.op_calls > kept.op_calls);
}

}  // namespace titan::cases
