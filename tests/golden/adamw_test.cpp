// SPDX-License-Identifier: BSD-3-Clause
// AdamW against PyTorch's, from a start and ten gradients.
#include <catch2/catch.hpp>

#include "core/train/optimizer.h"
#include "tests/golden/hf_case.h"

namespace titan::golden {
namespace {

constexpr const char* kConfig =
    R"({"lr": 1e-2, "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1})";

/// A tree with one parameter, as the optimizer sees a model.
class OneParameter {
 public:
  explicit OneParameter(const char* precision) {
    module::Module& leaf = tree.add_module(tree.root(), "only");
    const int64_t dims[] = {6, 5};
    titan_parameter_spec spec = {};
    spec.struct_size = sizeof(spec);
    spec.name = {"weight", 6};
    spec.dims = dims;
    spec.num_dims = 2;
    parameter = &tree.add_parameter(leaf, spec);
    module::Item item;
    item.module = &leaf;
    tree.sequence("").items.push_back(item);
    plan = parallel::default_plan(tree, 1);
    engine = std::make_unique<parallel::ParameterEngine>(
        tree,
        plan,
        plan.stages.front().items,
        mesh,
        parallel::precision_of(precision));
    const plugin::Component& adamw =
        plugins().plugins.find("titan.optimizer/1", "titan.adamw");
    optimizer = std::make_unique<train::Optimizer>(
        adamw.as<titan_optimizer_table>(),
        adamw.owner->host,
        adamw.owner,
        adamw.id,
        train::complete_config(adamw,
                               config::Value::from_json(kConfig, "test")),
        std::vector<train::GroupRule>{},
        *engine);
  }

  module::ModuleTree tree;
  module::Parameter* parameter = nullptr;
  parallel::Plan plan;
  dist::Mesh mesh = dist::Mesh::single();
  std::unique_ptr<parallel::ParameterEngine> engine;
  std::unique_ptr<train::Optimizer> optimizer;
};

void check_steps(const char* precision,
                 const std::string& suffix,
                 double limit) {
  const auto golden = read_tensors(case_folder("adamw") / "steps.safetensors");
  OneParameter model(precision);
  const parallel::LocalPart& part = model.engine->parts().front();
  model.engine->master(part).copy_(golden.at("start." + suffix));
  const at::Tensor& gradients = golden.at("gradients." + suffix);
  for (int64_t step = 0; step < gradients.size(0); ++step) {
    model.engine->clear_gradients();
    model.engine->accumulate(
        "only", {model.parameter}, {gradients[step].clone()});
    model.optimizer->step(1e-2, step + 1, at::scalar_tensor(1.0, at::kDouble));
    model.engine->invalidate();
  }
  const auto& states = model.optimizer->states(0);
  REQUIRE(states.size() == 2);
  const at::Tensor& end = golden.at("end." + suffix);
  const double parameter = relative_error(model.engine->master(part), end);
  // The row whose gradients are tiny is judged on its own, too.
  const double small = relative_error(model.engine->master(part)[0], end[0]);
  const double first =
      relative_error(states[0].value, golden.at("exp_avg." + suffix));
  const double second =
      relative_error(states[1].value, golden.at("exp_avg_sq." + suffix));
  CAPTURE(parameter, small, first, second);
  CHECK(parameter <= limit);
  CHECK(small <= limit);
  CHECK(first <= limit);
  CHECK(second <= limit);
}

}  // namespace

// Case OPT-05. LibTorch's own C++ AdamW was reported to differ from Python's.
TEST_CASE("ten AdamW steps equal PyTorch's within 1e-6, in fp32") {
  check_steps("fp32", "f32", 1e-6);
}

TEST_CASE("ten AdamW steps equal PyTorch's within 1e-14, in fp64") {
  check_steps("fp64", "f64", 1e-14);
}

}  // namespace titan::golden
