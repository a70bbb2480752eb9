// SPDX-License-Identifier: BSD-3-Clause
#include "core/module/hf_keys.h"

#include <ATen/ATen.h>
#include <catch2/catch.hpp>

#include <titan/error.h>

namespace titan::module {
namespace {

Parameter parameter_of(std::string fqn, std::vector<int64_t> shape) {
  Parameter parameter;
  parameter.fqn = std::move(fqn);
  parameter.shape = std::move(shape);
  return parameter;
}

at::Tensor counted(const Parameter& parameter, int64_t first) {
  return at::arange(first, first + parameter.num_elements(), at::kFloat)
      .reshape(parameter.shape);
}

// One rule of each kind; gate and up share a tensor of theirs.
KeyMap every_rule() {
  return KeyMap(std::vector<KeyRule>{
      {TITAN_KEY_IDENTITY, "norm.weight", "model.norm.weight"},
      {TITAN_KEY_ROPE_ROWS, "{i}.q", "model.{i}.q_proj", 4},
      {TITAN_KEY_TRANSPOSE, "{i}.conv", "model.{i}.c_fc"},
      {TITAN_KEY_STACK, "{i}.experts", "model.{i}.experts.{e}.w"},
      {TITAN_KEY_SPLIT, "{i}.gate", "model.{i}.gate_up", 0, 2, 0},
      {TITAN_KEY_SPLIT, "{i}.up", "model.{i}.gate_up", 1, 2, 0}});
}

}  // namespace

TEST_CASE("each key rule is undone by its other direction", "[unit]") {
  const std::vector<Parameter> parameters = {parameter_of("norm.weight", {3}),
                                             parameter_of("7.q", {8, 3}),
                                             parameter_of("7.conv", {2, 5}),
                                             parameter_of("7.experts", {3, 2}),
                                             parameter_of("7.gate", {2, 3}),
                                             parameter_of("7.up", {2, 3})};
  const KeyMap keys = every_rule();
  std::vector<ParameterValue> values;
  for (const Parameter& parameter : parameters)
    values.push_back(
        {&parameter,
         counted(parameter, 100 * static_cast<int64_t>(values.size()))});
  const auto hf = keys.save(values);
  CHECK(hf.size() == 7);
  CHECK(hf.at("model.7.c_fc").sizes() == at::IntArrayRef({5, 2}));
  CHECK(at::equal(hf.at("model.7.experts.2.w"), values[3].value[2]));
  CHECK(at::equal(hf.at("model.7.gate_up"),
                  at::cat({values[4].value, values[5].value})));
  // Pairs (2i, 2i + 1) here are halves (i, H/2 + i) there.
  CHECK(at::equal(hf.at("model.7.q_proj")[2], values[1].value[1]));
  for (const ParameterValue& given : values)
    CHECK(at::equal(keys.load(*given.parameter,
                              [&](const std::string& name) {
                                const auto found = hf.find(name);
                                return found == hf.end() ? at::Tensor()
                                                         : found->second;
                              }),
                    given.value));
}

TEST_CASE("a shared tensor is not written without one of its parts", "[unit]") {
  const Parameter up = parameter_of("7.up", {2, 3});
  CHECK_THROWS_WITH(every_rule().save({{&up, counted(up, 0)}}),
                    "[checkpoint] parts of model.7.gate_up: expected 2, got 1");
}

}  // namespace titan::module
