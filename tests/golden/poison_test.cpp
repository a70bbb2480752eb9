// SPDX-License-Identifier: BSD-3-Clause
// Memory that nobody wrote must not reach a result: everything that is
// allocated without a value is NaN here.
#include <ATen/Context.h>
#include <catch2/catch.hpp>

#include "tests/golden/hf_case.h"

namespace titan::golden {
namespace {

// LibTorch fills at::empty with NaN (integers: their maximum) in this mode.
class PoisonedAllocation {
 public:
  PoisonedAllocation() {
    at::globalContext().setDeterministicAlgorithms(true, false);
    at::globalContext().setDeterministicFillUninitializedMemory(true);
  }
  ~PoisonedAllocation() {
    at::globalContext().setDeterministicAlgorithms(false, false);
  }
  PoisonedAllocation(const PoisonedAllocation&) = delete;
  PoisonedAllocation& operator=(const PoisonedAllocation&) = delete;
};

bool has_nan(const at::Tensor& tensor) {
  return at::isnan(tensor).any().item<bool>();
}

void fill_with_nan(parallel::ParameterEngine& engine) {
  for (const parallel::LocalPart& part : engine.parts())
    engine.master(part).fill_(std::numeric_limits<double>::quiet_NaN());
  engine.invalidate();
}

}  // namespace

// Cases NUM-03, and NUM-16 where most experts are idle.
TEST_CASE("a model built over poisoned memory computes the same logits") {
  const std::string name = GENERATE(as<std::string>{},
                                    "llama3_bias",
                                    "llama3_linear",
                                    "llama3_yarn",
                                    "llama3",
                                    "deepseek_v3_halves");
  const std::string precision = GENERATE(as<std::string>{}, "fp32", "bf16");
  INFO(name << ' ' << precision);
  HfCase direct(name, precision.c_str());
  direct.load();
  const at::Tensor expected = direct.logits();

  const PoisonedAllocation poison;
  REQUIRE(has_nan(at::empty({4})));
  HfCase poisoned(name, precision.c_str());
  fill_with_nan(*poisoned.engine);
  REQUIRE(has_nan(poisoned.logits()));
  poisoned.load();
  for (const parallel::LocalPart& part : poisoned.engine->parts()) {
    INFO(part.parameter->fqn);
    CHECK_FALSE(has_nan(poisoned.engine->master(part)));
  }
  for (const auto& entry : poisoned.engine->buffers().entries()) {
    INFO(entry.buffer->fqn);
    CHECK_FALSE(has_nan(entry.value));
  }
  CHECK(at::equal(poisoned.logits(), expected));
}

TEST_CASE("initialising leaves no parameter unwritten") {
  HfCase direct("llama3_wide_heads", "fp32");
  direct.engine->initialise(7);
  const PoisonedAllocation poison;
  HfCase poisoned("llama3_wide_heads", "fp32");
  fill_with_nan(*poisoned.engine);
  poisoned.engine->initialise(7);
  for (size_t i = 0; i < direct.engine->parts().size(); ++i) {
    const parallel::LocalPart& part = poisoned.engine->parts()[i];
    INFO(part.parameter->fqn);
    CHECK(at::equal(poisoned.engine->master(part),
                    direct.engine->master(direct.engine->parts()[i])));
  }
}

}  // namespace titan::golden
