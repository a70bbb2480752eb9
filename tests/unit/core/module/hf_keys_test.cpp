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
      {TITAN_KEY_SPLIT, "{i}.up", "model.{i}.gate_up", 1, 2, 0},
      {TITAN_KEY_SLICE, "{i}.query", "model.{i}.qkv", 0, 5, 0},
      {TITAN_KEY_SLICE, "{i}.value", "model.{i}.qkv", 1, 5, 0},
      {TITAN_KEY_IGNORE, "", "vision.*"}});
}

}  // namespace

TEST_CASE("each key rule is undone by its other direction", "[unit]") {
  const std::vector<Parameter> parameters = {parameter_of("norm.weight", {3}),
                                             parameter_of("7.q", {8, 3}),
                                             parameter_of("7.conv", {2, 5}),
                                             parameter_of("7.experts", {3, 2}),
                                             parameter_of("7.gate", {2, 3}),
                                             parameter_of("7.up", {2, 3}),
                                             parameter_of("7.query", {1, 3}),
                                             parameter_of("7.value", {4, 3})};
  const KeyMap keys = every_rule();
  std::vector<ParameterValue> values;
  for (const Parameter& parameter : parameters)
    values.push_back(
        {&parameter,
         counted(parameter, 100 * static_cast<int64_t>(values.size()))});
  const auto hf = keys.save(values);
  CHECK(hf.size() == 8);
  CHECK(hf.at("model.7.c_fc").sizes() == at::IntArrayRef({5, 2}));
  CHECK(at::equal(hf.at("model.7.experts.2.w"), values[3].value[2]));
  CHECK(at::equal(hf.at("model.7.gate_up"),
                  at::cat({values[4].value, values[5].value})));
  CHECK(at::equal(hf.at("model.7.qkv"),
                  at::cat({values[6].value, values[7].value})));
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

namespace {

// Three experts of a layer, each with its own number, as `type` says.
at::Tensor expert_of(const std::string& name) {
  const auto number = static_cast<double>(name[name.find("experts.") + 8]);
  return at::full({2, 4}, number, at::kFloat);
}

const KeyMap& expert_rules() {
  static const KeyMap keys(std::vector<KeyRule>{
      {TITAN_KEY_STACK,
       "layers.{i}.moe.routed_experts.inner_experts.w1_EFD",
       "model.layers.{i}.mlp.experts.{e}.gate_proj.weight"},
      {TITAN_KEY_IDENTITY,
       "layers.{i}.moe.expert_bias_E",
       "model.layers.{i}.mlp.gate.e_score_correction_bias"}});
  return keys;
}

const Parameter& stacked() {
  static const Parameter parameter = parameter_of(
      "layers.5.moe.routed_experts.inner_experts.w1_EFD", {3, 2, 4});
  return parameter;
}

}  // namespace

TEST_CASE("experts stack in the order of their numbers, both ways", "[unit]") {
  std::vector<std::string> asked;
  const at::Tensor value =
      expert_rules().load(stacked(), [&](const std::string& name) {
        asked.push_back(name);
        return expert_of(name);
      });
  REQUIRE(asked.size() == 3);
  CHECK(asked[2] == "model.layers.5.mlp.experts.2.gate_proj.weight");
  for (int64_t e = 0; e < 3; ++e)
    CHECK(at::equal(value[e], expert_of(asked[static_cast<size_t>(e)])));
  const auto hf = expert_rules().save({{&stacked(), value}});
  REQUIRE(hf.size() == 3);
  for (const std::string& name : asked) {
    CHECK(at::equal(hf.at(name), expert_of(name)));
    CHECK(hf.at(name).storage().data() == value.storage().data());  // no copy
  }
}

TEST_CASE("a part of a stack that is not as the others is named", "[unit]") {
  const auto load_with = [](const std::function<at::Tensor()>& second) {
    return expert_rules().load(stacked(), [&](const std::string& name) {
      return name.find("experts.1") == std::string::npos ? expert_of(name)
                                                         : second();
    });
  };
  const std::string name = "model.layers.5.mlp.experts.1.gate_proj.weight";
  CHECK_THROWS_WITH(load_with([] { return at::Tensor(); }),
                    "[checkpoint] missing key: expected '" + name + "' for " +
                        stacked().fqn + ", got none");
  CHECK_THROWS_WITH(load_with([] {
                      return at::zeros({4, 2});
                    }),
                    Catch::Contains(name) && Catch::Contains("(2, 4)") &&
                        Catch::Contains("(4, 2)"));
  CHECK_THROWS_WITH(load_with([] {
                      return at::zeros({2, 4}, at::kBFloat16);
                    }),
                    Catch::Contains(name) && Catch::Contains("expected f32") &&
                        Catch::Contains("got bf16"));
}

TEST_CASE("persistent buffers that a rule names are in checkpoints", "[unit]") {
  ModuleTree tree;
  Module& layers = tree.add_module(tree.root(), "layers");
  Module& moe = tree.add_module(tree.add_module(layers, "5"), "moe");
  const auto add = [&](std::string_view name, uint32_t flags) {
    const int64_t dims[] = {3};
    titan_tensor_spec spec{};
    spec.struct_size = sizeof(spec);
    spec.dtype = TITAN_DTYPE_F32;
    spec.dims = dims;
    spec.num_dims = 1;
    spec.name = {name.data(), name.size()};
    tree.add_buffer(moe, spec, flags);
  };
  add("expert_bias_E", TITAN_BUFFER_PERSISTENT);
  add("tokens_per_expert_E", TITAN_BUFFER_STATISTIC);
  add("other", TITAN_BUFFER_PERSISTENT);
  const auto keyed = expert_rules().keyed_buffers(tree);
  REQUIRE(keyed.size() == 1);
  CHECK(keyed[0].fqn == "layers.5.moe.expert_bias_E");
  CHECK(expert_rules().sources(keyed[0])[0].hf ==
        "model.layers.5.mlp.gate.e_score_correction_bias");
}

TEST_CASE("unequal parts are joined by where they begin, and all of them",
          "[unit]") {
  const Parameter query = parameter_of("7.query", {1, 3});
  const Parameter value = parameter_of("7.value", {4, 3});
  CHECK_THROWS_WITH(every_rule().save({{&query, counted(query, 0)}}),
                    "[checkpoint] parts of model.7.qkv: expected 5 rows, got "
                    "1");
  CHECK_THROWS_WITH(every_rule().save({{&value, counted(value, 0)}}),
                    "[checkpoint] parts of model.7.qkv: expected 5 rows, got "
                    "0");
  CHECK_THROWS_WITH(every_rule().load(value,
                                      [](const std::string&) {
                                        return at::zeros({4, 3});
                                      }),
                    "[checkpoint] model.7.qkv shape: expected (5, 3) for "
                    "7.value, got (4, 3)");
}

TEST_CASE("a star at the end of an ignored key stands for any rest", "[unit]") {
  const KeyMap keys = every_rule();
  CHECK(keys.ignores("vision.blocks.3.attn.qkv.weight"));
  CHECK(keys.ignores("vision."));
  CHECK_FALSE(keys.ignores("visions.x"));
  CHECK_FALSE(keys.ignores("model.7.qkv"));
}

namespace {

// q, k or v of a fused tensor: `part` of three in each of `num_groups`.
KeyRule fused(const std::string& native,
              int64_t part,
              int64_t num_groups,
              bool is_transposed) {
  KeyRule rule{TITAN_KEY_SPLIT, native, "qkv", part, 3, 0};
  rule.num_groups = num_groups;
  rule.is_transposed = is_transposed;
  return rule;
}

KeyMap fused_rules(int64_t num_groups, bool is_transposed) {
  return KeyMap(std::vector<KeyRule>{fused("q", 0, num_groups, is_transposed),
                                     fused("k", 1, num_groups, is_transposed),
                                     fused("v", 2, num_groups, is_transposed)});
}

void check_there_and_back(const KeyMap& keys, const at::Tensor& theirs) {
  std::vector<Parameter> parameters;
  for (const char* name : {"q", "k", "v"})
    parameters.push_back(parameter_of(name, {4, 5}));
  std::vector<ParameterValue> values;
  for (const Parameter& parameter : parameters)
    values.push_back({&parameter, keys.load(parameter, [&](const std::string&) {
                        return theirs;
                      })});
  CHECK(at::equal(keys.save(values).at("qkv"), theirs));
}

}  // namespace

TEST_CASE("q, k and v fused head by head come apart and together", "[unit]") {
  // GPT-NeoX: rows are (head, one of three, dim); two heads of two dims.
  const at::Tensor qkv = at::arange(60, at::kFloat).reshape({12, 5});
  const KeyMap keys = fused_rules(2, false);
  const at::Tensor k = keys.load(parameter_of("k", {4, 5}),
                                 [&](const std::string&) { return qkv; });
  CHECK(at::equal(k, at::cat({qkv.narrow(0, 2, 2), qkv.narrow(0, 8, 2)})));
  check_there_and_back(keys, qkv);
}

TEST_CASE("a fused tensor may be stored transposed", "[unit]") {
  // GPT-2: (model dim, three times heads); Conv1D multiplies from the left.
  const at::Tensor qkv = at::arange(60, at::kFloat).reshape({5, 12});
  const KeyMap keys = fused_rules(1, true);
  const at::Tensor v = keys.load(parameter_of("v", {4, 5}),
                                 [&](const std::string&) { return qkv; });
  CHECK(at::equal(v, qkv.narrow(1, 8, 4).t()));
  check_there_and_back(keys, qkv);
  check_there_and_back(fused_rules(2, true), qkv);
  CHECK_THROWS_WITH(keys.load(parameter_of("v", {4, 5}),
                              [&](const std::string&) { return qkv.t(); }),
                    "[checkpoint] qkv shape: expected (5, 12) for v, got "
                    "(12, 5)");
}

TEST_CASE("a checkpoint of the bare model has names without the prefix",
          "[unit]") {
  const KeyMap keys(std::vector<KeyRule>{
      {TITAN_KEY_IDENTITY, "embedding", "transformer.wte.weight"},
      {TITAN_KEY_IDENTITY, "layers.{i}.w1", "transformer.h.{i}.mlp.w"},
      {TITAN_KEY_IDENTITY, "lm_head", "lm_head.weight"}});
  const auto embedding_in = [&](const std::vector<std::string>& stored) {
    return keys.fitting(stored).sources(parameter_of("embedding", {2}))[0].hf;
  };
  CHECK(embedding_in({"transformer.wte.weight", "lm_head.weight"}) ==
        "transformer.wte.weight");
  CHECK(embedding_in({"wte.weight", "h.0.mlp.w"}) == "wte.weight");
  CHECK(embedding_in({"wte.weight", "lm_head.weight"}) == "wte.weight");
  CHECK(embedding_in({}) == "transformer.wte.weight");
}

TEST_CASE("names of another writer are read where a checkpoint has them",
          "[unit]") {
  const auto other = [](const char* native, int64_t part) {
    KeyRule rule{TITAN_KEY_SPLIT, native, "{i}.experts.gate_up", part, 2, 1};
    rule.is_alternative = true;
    return rule;
  };
  const KeyMap keys(
      std::vector<KeyRule>{{TITAN_KEY_STACK, "{i}.w1", "{i}.experts.{e}.gate"},
                           {TITAN_KEY_STACK, "{i}.w3", "{i}.experts.{e}.up"},
                           other("{i}.w1", 0),
                           other("{i}.w3", 1)});
  const Parameter gate = parameter_of("5.w1", {3, 2, 4});
  const Parameter up = parameter_of("5.w3", {3, 2, 4});
  CHECK(keys.sources(gate)[2].hf == "5.experts.2.gate");
  const at::Tensor fused = at::randn({3, 4, 4});
  const KeyMap named = keys.fitting({"5.experts.gate_up", "other"});
  REQUIRE(named.sources(up).size() == 1);
  const auto read = [&](const std::string& name) {
    return name == "5.experts.gate_up" ? fused : at::Tensor();
  };
  CHECK(at::equal(named.load(gate, read), fused.narrow(1, 0, 2)));
  CHECK(at::equal(named.load(up, read), fused.narrow(1, 2, 2)));
  CHECK(keys.fitting({"other"}).sources(up).size() == 3);
  CHECK(keys.save({{&up, counted(up, 0)}}).count("5.experts.1.up") == 1);
}

TEST_CASE("the parts of a stack may be stored transposed", "[unit]") {
  KeyRule rule{TITAN_KEY_STACK, "experts", "experts.{e}"};
  rule.is_transposed = true;
  const KeyMap keys(std::vector<KeyRule>{rule});
  const Parameter experts = parameter_of("experts", {3, 2, 4});
  const at::Tensor value = counted(experts, 1);
  const auto hf = keys.save({{&experts, value}});
  CHECK(at::equal(hf.at("experts.1"), value[1].t()));
  CHECK(at::equal(
      keys.load(experts, [&](const std::string& name) { return hf.at(name); }),
      value));
}

}  // namespace titan::module
