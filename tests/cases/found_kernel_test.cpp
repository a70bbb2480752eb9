// SPDX-License-Identifier: BSD-3-Clause
// A plugin that a search merely found must not change a run's numbers: its
// kernels run where the recipe names them, or where its file was given.
#include <catch2/catch.hpp>

#include "core/op/catalogue.h"
#include "core/op/select.h"
#include "core/op/slot.h"
#include "tests/cases/small_run.h"

using titan::cases::Overrides;
using titan::cases::SmallRun;

namespace {

constexpr const char* kKernel = "acme.swiglu_cpu";
constexpr const char* kFolder = TITAN_BINARY_DIR "/tests/abi/written_with_sdk";

std::string chosen_kernel(SmallRun& run) {
  const titan::op::OpSpec& spec = titan::op::find_op("titan.swiglu/1");
  const titan::op::TensorMeta rows(at::kFloat, at::kCPU, {16, 48});
  return run.session()
      .make_selector()
      ->select(spec,
               titan::op::bind_attributes(spec, {}, "[test]"),
               {rows, rows},
               "layers.0.feed_forward",
               /*needs_backward=*/false)
      .kernel->id();
}

}  // namespace

TEST_CASE("a kernel that a search found runs only where it is named",
          "[integration]") {
  Overrides overrides;
  overrides.push_back(titan::text("plugins.search=[", kFolder, "]"));
  SmallRun found(overrides);
  CHECK(chosen_kernel(found) == "titan.reference");
  overrides.push_back(titan::text("kernels={titan.swiglu/1: ", kKernel, "}"));
  SmallRun named(overrides);
  CHECK(chosen_kernel(named) == kKernel);
}

TEST_CASE("a kernel's score sees whether an input is contiguous",
          "[integration]") {
  Overrides overrides;
  overrides.push_back(
      titan::text("plugins.load=[{path: ", kFolder, "/libexample_swiglu.so}]"));
  SmallRun given(overrides);
  const titan::op::OpSpec& spec = titan::op::find_op("titan.swiglu/1");
  titan::op::Slot slot(spec, "ffn", "", {}, given.session().make_selector());
  const at::Tensor dense = at::ones({6, 8});
  CHECK(slot.bind({dense, dense}).kernel().id() == kKernel);
  // The example refuses strided inputs; the same shape once more, transposed.
  const at::Tensor strided = at::ones({8, 6}).t();
  CHECK(slot.bind({strided, strided}).kernel().id() == "titan.reference");
}

TEST_CASE("a kernel of a file that the recipe gives takes part unnamed",
          "[integration]") {
  Overrides overrides;
  overrides.push_back(
      titan::text("plugins.load=[{path: ", kFolder, "/libexample_swiglu.so}]"));
  SmallRun given(overrides);
  CHECK(chosen_kernel(given) == kKernel);
}
