// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include "tests/unit/plugin_api/built_model.h"

namespace llama3_test {
namespace {

using symbolic::with;
using titan::Json;

const symbolic::ModelPlugin& plugin() {
  static const symbolic::ModelPlugin loaded("plugins/libtitan_llama3.so");
  return loaded;
}

struct Model : symbolic::BuiltModel {
  explicit Model(const std::string& json) : BuiltModel(plugin(), json) {}
};

Json from_hf(const std::string& json) {
  return plugin().from_hf(json);
}

const std::string kTiny =
    R"({"dim":8,"num_layers":2,"num_heads":4,"num_kv_heads":2,)"
    R"("hidden_dim":16,"vocab_size":32})";

const std::string kHf =
    R"({"model_type":"llama","hidden_size":64,"num_hidden_layers":2,)"
    R"("num_attention_heads":4,"num_key_value_heads":2,)"
    R"("intermediate_size":96,"vocab_size":256,"rms_norm_eps":1e-5,)"
    R"("max_position_embeddings":128})";

}  // namespace

TEST_CASE("llama3 declares its sequence, tokens going into the embedding",
          "[unit]") {
  const Model model(kTiny);
  CHECK(model.tree.items ==
        std::vector<std::string>{"tok_embeddings(batch tokens) -> [-1, 8]",
                                 "layers.0() -> [-1, 8]",
                                 "layers.1() -> [-1, 8]",
                                 "norm() -> [-1, 8]"});
  CHECK(model.tree.head == "lm_head");
}

TEST_CASE("llama3's block computes attention and feed-forward in order",
          "[unit]") {
  const Model model(kTiny);
  const int64_t before = symbolic::live_references();
  const std::string attention =
      symbolic::run(model.tree.module("layers.0.attention"), {"x"})[0];
  const auto head = [](const std::string& name) {
    return "unflatten.int(layers.0.attention.qkv_linear." + name +
           "(x), -1, [-1, 2])";
  };
  const std::string rope = "layers.0.attention.rope(";
  CHECK(attention ==
        "layers.0.attention.wo(flatten.using_ints("
        "layers.0.attention.inner(" +
            rope + head("wq") + ", positions), " + rope + head("wk") +
            ", positions), " + head("wv") + ", cu_seqlens, doc_id), -2, -1))");
  CHECK(symbolic::run(model.tree.module("layers.0.feed_forward"), {"x"})[0] ==
        "layers.0.feed_forward.w2(layers.0.feed_forward.swiglu("
        "layers.0.feed_forward.w1(x), layers.0.feed_forward.w3(x)))");
  const std::string block =
      symbolic::run(model.tree.module("layers.0"), {"x"})[0];
  CHECK(block.rfind("add.Tensor(add.Tensor(x, layers.0.attention.wo(", 0) == 0);
  CHECK(symbolic::live_references() == before);
}

TEST_CASE("llama3's forward refuses a wrong number of inputs", "[unit]") {
  const Model model(kTiny);
  CHECK_THROWS_AS(symbolic::run(model.tree.module("layers.0"), {"x", "y"}),
                  titan::BugError);
}

TEST_CASE("llama3's flavors have the published sizes", "[unit]") {
  // Released checkpoints; debugmodel from its shapes. A tied weight counts
  // once.
  const std::pair<const char*, int64_t> sizes[] = {
      {"debugmodel", 6163712},
      {"1B", 1235814400},
      {"3B", 3212749824},
      {"8B", 8030261248},
      {"70B", 70553706496},
      {"405B", 405853388800},
  };
  for (const auto& [name, count] : sizes) {
    INFO(name);
    CHECK(Model(plugin().flavor(name)).num_parameters() == count);
  }
}

TEST_CASE("llama3 counts FLOPs by the formula 6 N + attention", "[unit]") {
  const Model model(plugin().flavor("debugmodel"));
  const double looked_up = 2048.0 * 256;
  const double n = static_cast<double>(model.num_parameters()) - looked_up;
  CHECK(model.flops_per_token(2048) == 6 * n + 6.0 * 6 * 16 * (16 + 16) * 2048);
}

TEST_CASE("llama3 starts each parameter by its rule", "[unit]") {
  const Model model(kTiny);
  const auto& embedding = model.tree.parameter("tok_embeddings.weight").spec;
  CHECK(embedding.init == TITAN_INIT_NORMAL);
  CHECK(embedding.std == 1);
  const auto& wq =
      model.tree.parameter("layers.1.attention.qkv_linear.wq.weight").spec;
  CHECK(wq.init == TITAN_INIT_TRUNC_NORMAL);
  CHECK(wq.std == 0.02);
  CHECK(wq.high == 2);
  CHECK(wq.shard == TITAN_SHARD_COLUMN);
  CHECK(wq.shard_granule == 2);
  const auto& w2 = model.tree.parameter("layers.1.feed_forward.w2.weight").spec;
  CHECK(w2.std == Approx(0.01));
  CHECK(w2.shard == TITAN_SHARD_ROW);
  const auto& head = model.tree.parameter("lm_head.weight").spec;
  CHECK(head.std == Approx(1 / std::sqrt(8.0)));
  CHECK(head.low == Approx(-3 / std::sqrt(8.0)));
  CHECK(model.tree.parameter("norm.weight").spec.mean == 1);
}

TEST_CASE("llama3 ties the head to the embedding, which starts as a head",
          "[unit]") {
  const Model model(with(kTiny, R"("tie_embeddings":true)"));
  CHECK(model.tree.ties ==
        std::vector<std::string>{"lm_head = tok_embeddings.weight"});
  CHECK(model.tree.parameter("tok_embeddings.weight").spec.std ==
        Approx(1 / std::sqrt(8.0)));
}

TEST_CASE("llama3 refuses keys that do not fit together", "[unit]") {
  CHECK_THROWS_WITH(Model(with(kTiny, R"("head_dim":3)")),
                    Catch::Contains("[model.head_dim] rotary embedding turns "
                                    "pairs: expected an even number, got 3"));
  CHECK_THROWS_WITH(
      Model(R"({"num_heads":32,"num_kv_heads":6})"),
      "[model.num_kv_heads] must divide num_heads: expected a divisor of 32, "
      "got 6");
  CHECK_THROWS_AS(Model(R"({"dim":10,"num_heads":4,"num_kv_heads":4})"),
                  titan::UserError);
}

TEST_CASE("llama3 imports every form of rope in config.json", "[unit]") {
  const auto rope = [](const std::string& more) {
    return from_hf(with(kHf, more)).at("rope").dump();
  };
  CHECK(from_hf(kHf).at("rope").dump() == R"({"theta":10000.0})");
  CHECK(rope(R"("rope_theta":5e5,"rope_scaling":null)") ==
        R"({"theta":5e+05})");
  const std::string llama =
      R"({"theta":5e+05,"scaling":{"type":"llama","factor":8.0,)"
      R"("original_max_position":64,"low_freq_factor":1.0,)"
      R"("high_freq_factor":4.0}})";
  CHECK(rope(R"("rope_parameters":{"rope_type":"llama3","rope_theta":500000.0,)"
             R"("factor":8.0,"low_freq_factor":1.0,"high_freq_factor":4.0,)"
             R"("original_max_position_embeddings":64})") == llama);
  CHECK(rope(R"("rope_theta":500000.0,"rope_scaling":{"rope_type":"llama3",)"
             R"("factor":8.0,"low_freq_factor":1.0,"high_freq_factor":4.0,)"
             R"("original_max_position_embeddings":64})") == llama);
  CHECK(rope(R"("rope_scaling":{"type":"linear","factor":2})") ==
        R"({"theta":10000.0,"scaling":{"type":"linear","factor":2.0}})");
  CHECK(rope(R"("rope_scaling":{"type":"yarn","factor":4.0})") ==
        R"({"theta":10000.0,"scaling":{"type":"yarn","factor":4.0,)"
        R"("original_max_position":128,"beta_fast":32.0,"beta_slow":1.0,)"
        R"("truncate":true}})");
  CHECK_THROWS_WITH(rope(R"("rope_scaling":{"type":"dynamic","factor":4.0})"),
                    Catch::Contains("expected default, llama3, linear or "
                                    "yarn, got dynamic"));
}

TEST_CASE("llama3's imported config builds, and exports what it imported",
          "[unit]") {
  const std::string rope =
      R"("attention_bias":true,"mlp_bias":true,"rope_parameters":{)"
      R"("rope_type":"llama3","rope_theta":500000.0,"factor":8.0,)"
      R"("low_freq_factor":1.0,"high_freq_factor":4.0,)"
      R"("original_max_position_embeddings":64})";
  const Json config = from_hf(with(kHf, rope));
  const Model model(config.dump());
  CHECK(model.tree.parameter("layers.0.attention.wo.bias").spec.shard ==
        TITAN_SHARD_REPLICATE);
  Json again = from_hf(model.to_hf());
  CHECK(again.at("head_dim").i64() == 16);
  Json expected = config;
  expected["head_dim"] = 16;
  for (const auto& [key, value] : expected.members()) {
    INFO(key);
    if (key != "rope") CHECK(again.at(key) == value);
  }
  CHECK(again.at("rope").at("scaling").at("factor").f64() == 8);
}

TEST_CASE("llama3 imports YaRN's two magnitudes as their quotient", "[unit]") {
  const Json config =
      from_hf(with(kHf,
                   R"("rope_scaling":{"type":"yarn","factor":40,"mscale":1.0,)"
                   R"("mscale_all_dim":0.5})"));
  const double log = std::log(40.0);
  CHECK(config.at("rope").at("scaling").at("attention_factor").f64() ==
        Approx((0.1 * log + 1) / (0.05 * log + 1)));
}

TEST_CASE("llama3 refuses what its network does not do", "[unit]") {
  CHECK_THROWS_WITH(from_hf(with(kHf, R"("partial_rotary_factor":0.5)")),
                    "[config.json partial_rotary_factor] whole heads are "
                    "turned: expected 1, got 0.5");
  CHECK_THROWS_WITH(from_hf(with(kHf, R"("hidden_act":"gelu")")),
                    "[config.json hidden_act] the feed-forward is SwiGLU: "
                    "expected silu, got gelu");
  CHECK_THROWS_WITH(from_hf(with(kHf, R"("attention_dropout":0.1)")),
                    "[config.json attention_dropout] attention drops nothing: "
                    "expected 0, got 0.1");
}

TEST_CASE("llama3's YaRN factor scales the softmax twice", "[unit]") {
  const Model model(
      with(kTiny, R"("rope":{"scaling":{"type":"yarn","factor":4}})"));
  const double factor = 0.1 * std::log(4.0) + 1;
  const auto& site = model.tree.site("layers.0.attention.inner");
  CHECK(site.attributes.at("scale").real ==
        Approx(factor * factor / std::sqrt(2.0)));
  CHECK(model.tree.site("layers.0.attention.rope").strings.at("scaling") ==
        "yarn");
}

TEST_CASE("llama3's key rules cover every parameter once", "[unit]") {
  const Model model(with(kTiny, R"("attention_bias":true,"mlp_bias":true)"));
  model.check_key_rules();
  const auto wq =
      model.key_rules().at("layers.{i}.attention.qkv_linear.wq.bias");
  CHECK(wq.transform == TITAN_KEY_ROPE_ROWS);
  CHECK(wq.arg0 == 2);
}

}  // namespace llama3_test
