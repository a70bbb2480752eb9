// SPDX-License-Identifier: BSD-3-Clause
// What options make of the network; gpt_options_test.cpp has those that are
// refused.
#include <cmath>

#include <catch2/catch.hpp>

#include "tests/unit/plugin_api/built_model.h"

namespace gpt_test {
namespace {

using symbolic::with;
using titan::Json;

const symbolic::ModelPlugin& plugin() {
  static const symbolic::ModelPlugin loaded("plugins/libtitan_gpt.so");
  return loaded;
}

struct Model : symbolic::BuiltModel {
  explicit Model(const std::string& json) : BuiltModel(plugin(), json) {}

  std::string block() const {
    return symbolic::run(tree.module("layers.0"), {"x"})[0];
  }
};

const std::string kTiny =
    R"({"dim":8,"num_layers":2,"num_heads":2,"hidden_dim":16,"vocab_size":32,)"
    R"("max_position":16})";

}  // namespace

TEST_CASE("gpt's blocks add what the place of norms says", "[unit]") {
  using Text = std::string;
  const auto check = [](const char* place, const auto& expected) {
    const Model model(
        with(kTiny, Text(R"("norm":{"place":")") + place + R"("})"));
    const auto call = [&](const Text& name, const Text& x) {
      return symbolic::run(model.tree.module("layers.0." + name), {x})[0];
    };
    const auto norm = [](const Text& name, const Text& x) {
      return "layers.0." + name + "(" + x + ")";
    };
    CHECK(model.block() == expected(call, norm));
  };
  const auto plus = [](const Text& a, const Text& b) {
    return "add.Tensor(" + a + ", " + b + ")";
  };
  check("pre", [&](auto f, auto norm) {
    const Text h = plus("x", f("attention", norm("attention_norm", "x")));
    return plus(h, f("feed_forward", norm("ffn_norm", h)));
  });
  check("post", [&](auto f, auto norm) {
    const Text h = plus("x", norm("attention_norm", f("attention", "x")));
    return plus(h, norm("ffn_norm", f("feed_forward", h)));
  });
  check("both", [&](auto f, auto norm) {
    const Text h = plus("x",
                        norm("attention_post_norm",
                             f("attention", norm("attention_norm", "x"))));
    return plus(h,
                norm("ffn_post_norm", f("feed_forward", norm("ffn_norm", h))));
  });
  check("sum", [&](auto f, auto norm) {
    const Text h = norm("attention_norm", plus("x", f("attention", "x")));
    return norm("ffn_norm", plus(h, f("feed_forward", h)));
  });
}

TEST_CASE("gpt's parallel blocks read one input with one norm or two",
          "[unit]") {
  const auto check = [](const std::string& kind, const std::string& norm) {
    const Model model(with(kTiny, R"("block":")" + kind + R"(")"));
    const auto part = [&](const std::string& name, const std::string& of) {
      return symbolic::run(model.tree.module("layers.0." + name),
                           {"layers.0." + of + "(x)"})[0];
    };
    CHECK(model.block() == "add.Tensor(x, add.Tensor(" +
                               part("attention", "attention_norm") + ", " +
                               part("feed_forward", norm) + "))");
  };
  check("parallel", "ffn_norm");
  check("parallel_one_norm", "attention_norm");
}

TEST_CASE("gpt with a table of positions has no rope", "[unit]") {
  const Model model(
      with(kTiny, R"("positions":{"kind":"learned","offset":2})"));
  CHECK(model.tree.parameter("embedding.positions.weight").sizes ==
        std::vector<int64_t>{18, 8});
  const std::string attention =
      symbolic::run(model.tree.module("layers.0.attention"), {"x"})[0];
  CHECK(attention.find("rope") == std::string::npos);
  CHECK(model.tree.items[0] == "embedding(batch tokens) -> [-1, 8]");
}

TEST_CASE("gpt's sizes are those of GPT-2 as published", "[unit]") {
  const auto count = [](const std::string& flavor) {
    return Model(plugin().flavor(flavor)).num_parameters();
  };
  CHECK(count("gpt2") == 124'439'808);
  CHECK(count("gpt2_medium") == 354'823'168);
  CHECK(count("gpt2_large") == 774'030'080);
  CHECK(count("gpt2_xl") == 1'557'611'200);
}

TEST_CASE("gpt's windows follow the layer types over and over", "[unit]") {
  const auto windows = [](const std::string& attention) {
    const Model model(
        with(R"({"dim":8,"num_layers":3,"num_heads":2,"vocab_size":32})",
             R"("attention":)" + attention));
    std::vector<int64_t> out;
    for (const std::string layer : {"0", "1", "2"})
      out.push_back(model.tree.site("layers." + layer + ".attention.inner")
                        .attributes.at("window")
                        .integer);
    return out;
  };
  CHECK(windows(R"({"window":5})") == std::vector<int64_t>{5, 5, 5});
  CHECK(windows(R"({"window":5,"layer_types":["sliding_attention",)"
                R"("full_attention"]})") == std::vector<int64_t>{5, 0, 5});
  CHECK_THROWS_WITH(windows(R"({"layer_types":["sliding_attention"]})"),
                    Catch::Contains("[model.attention.window] block 0 slides"));
}

TEST_CASE("gpt's export says what null stands for", "[unit]") {
  const Model model(
      with(kTiny,
           R"("norm":{"place":"both","unit_offset":true},)"
           R"("embedding":{"times_sqrt_dim":true},"tie_embeddings":true,)"
           R"("feed_forward":{"activation":"gelu_tanh"},)"
           R"("hf":{"layout":"gemma2"})"));
  const Json config = Json::parse(model.to_hf());
  CHECK(config.at("head_dim").i64() == 4);
  CHECK(config.at("query_pre_attn_scalar").i64() == 4);
}

TEST_CASE("gpt's config.json must be of a network that it has", "[unit]") {
  CHECK_THROWS_WITH(
      plugin().from_hf(
          R"({"model_type":"gpt2","n_embd":8,"n_layer":1,"n_head":1,)"
          R"("vocab_size":4,"scale_attn_by_inverse_layer_idx":true})"),
      Catch::Contains("[config.json scale_attn_by_inverse_layer_idx]"));
  CHECK_THROWS_WITH(
      plugin().from_hf(
          R"({"model_type":"gpt2","n_embd":8,"n_layer":1,"n_head":1,)"
          R"("vocab_size":4,"activation_function":"mish"})"),
      Catch::Contains("activation is not known") && Catch::Contains("mish"));
  const Json tiny = plugin().from_hf(
      R"({"model_type":"gemma2","hidden_size":8,"num_hidden_layers":1,)"
      R"("num_attention_heads":1,"intermediate_size":8,"vocab_size":4,)"
      R"("attn_logit_softcapping":null})");
  CHECK(tiny.at("attention").at("logit_cap").i64() == 0);
  CHECK(tiny.at("logits").at("cap").f64() == 30);
  CHECK(tiny.at("head_dim").i64() == 256);
  // A window that no block has stays outside.
  const Json full = plugin().from_hf(
      R"({"model_type":"gemma2","hidden_size":8,"num_hidden_layers":1,)"
      R"("num_attention_heads":1,"intermediate_size":8,"vocab_size":4,)"
      R"("num_key_value_heads":1,"sliding_window":7,)"
      R"("layer_types":["full_attention"]})");
  CHECK(full.at("attention").at("window").is_null());
  CHECK_NOTHROW(Model(full.dump()));
}

TEST_CASE("what adds to the residual starts smaller by the depth", "[unit]") {
  const auto std_of = [](const symbolic::BuiltModel& model,
                         const std::string& name) {
    return model.tree.parameter("layers.1." + name).spec.std;
  };
  const Model gpt(with(
      kTiny,
      R"("moe":{"num_experts":4,"shared_hidden_dim":8,"dense_layers":[0]})"));
  const double depth = 0.02 / std::sqrt(2.0 * 2);
  for (const char* name : {"attention.wo.weight",
                           "moe.routed_experts.inner_experts.w2_EDF",
                           "moe.shared_experts.w2.weight"})
    CHECK(std_of(gpt, name) == Approx(depth));
  for (const char* name : {"moe.routed_experts.inner_experts.w1_EFD",
                           "moe.shared_experts.w1.weight",
                           "moe.shared_experts.w3.weight"})
    CHECK(std_of(gpt, name) == 0.02);
  CHECK(gpt.tree.parameter("layers.0.feed_forward.w2.weight").spec.std ==
        Approx(depth));

  const symbolic::ModelPlugin deepseek("plugins/libtitan_deepseek_v3.so");
  const symbolic::ModelPlugin qwen("plugins/libtitan_qwen3_5.so");
  const symbolic::BuiltModel v3(
      deepseek,
      R"({"dim":8,"num_layers":2,"num_dense_layers":1,"vocab_size":8})");
  const symbolic::BuiltModel q3(
      qwen,
      R"({"dim":8,"num_layers":4,"full_attention_layers":[1],)"
      R"("vocab_size":8,"moe":{"num_experts":8}})");
  for (const symbolic::BuiltModel* model : {&v3, &q3})
    CHECK(std_of(*model, "moe.shared_experts.w2.weight") ==
          Approx(std_of(*model, "moe.routed_experts.inner_experts.w2_EDF")));
  CHECK(std_of(v3, "moe.shared_experts.w2.weight") == Approx(depth));
}

}  // namespace gpt_test
