// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include "tests/unit/plugin_api/built_model.h"

namespace qwen3_5_test {
namespace {

using symbolic::with;
using titan::Json;

const symbolic::ModelPlugin& plugin() {
  static const symbolic::ModelPlugin loaded("plugins/libtitan_qwen3_5.so");
  return loaded;
}

struct Model : symbolic::BuiltModel {
  explicit Model(const std::string& json) : BuiltModel(plugin(), json) {}
};

Json from_hf(const std::string& json) {
  return plugin().from_hf(json);
}

const std::string kTiny =
    R"({"dim":8,"num_layers":4,"num_heads":4,"num_kv_heads":2,"head_dim":8,)"
    R"("hidden_dim":16,"vocab_size":32,"linear_attention":{)"
    R"("num_key_heads":2,"num_value_heads":6,"key_head_dim":4,)"
    R"("value_head_dim":3}})";

const std::string kHf =
    R"({"model_type":"qwen3_5_text","hidden_size":64,"num_hidden_layers":4,)"
    R"("num_attention_heads":4,"num_key_value_heads":2,"head_dim":32,)"
    R"("intermediate_size":96,"vocab_size":256})";

}  // namespace

TEST_CASE("qwen3_5 declares its sequence, tokens going into the embedding",
          "[unit]") {
  const Model model(kTiny);
  CHECK(model.tree.items ==
        std::vector<std::string>{"tok_embeddings(batch tokens) -> [-1, 8]",
                                 "layers.0() -> [-1, 8]",
                                 "layers.1() -> [-1, 8]",
                                 "layers.2() -> [-1, 8]",
                                 "layers.3() -> [-1, 8]",
                                 "norm() -> [-1, 8]"});
  CHECK(model.tree.head == "lm_head");
}

TEST_CASE("qwen3_5 mixes by the delta rule of convolved projections",
          "[unit]") {
  const Model model(kTiny);
  const int64_t before = symbolic::live_references();
  const std::string a = "layers.0.attn.";
  const auto convolved = [&](const std::string& name, const std::string& dim) {
    return "unflatten.int(" + a + "conv_" + name + "(" + a + "in_proj_" + name +
           "(x), cu_seqlens, none), -1, [-1, " + dim + "])";
  };
  const std::string f32 = ", dtype 6)";
  const std::string decay = "neg(mul.Tensor(exp(to.dtype(" + a + "A_log" + f32 +
                            "), softplus(add.Tensor(to.dtype(" + a +
                            "in_proj_a(x)" + f32 + ", to.dtype(" + a +
                            "dt_bias" + f32 + "))))";
  const std::string rule = a + "rule(" + convolved("q", "4") + ", " +
                           convolved("k", "4") + ", " + convolved("v", "3") +
                           ", " + decay + ", sigmoid(" + a +
                           "in_proj_b(x)), cu_seqlens)#0";
  const std::string gated = a + "gate(unflatten.int(" + a +
                            "in_proj_z(x), -1, [-1, 3]), " + a + "norm(" +
                            rule + "))";
  CHECK(symbolic::run(model.tree.module("layers.0.attn"), {"x"})[0] ==
        a + "out_proj(flatten.using_ints(" + gated + ", -2, -1))");
  CHECK(model.tree.site(a + "rule").op_id == "titan.gated_delta_rule/1");
  CHECK(symbolic::live_references() == before);
}

TEST_CASE("qwen3_5's every fourth block is attention with an output gate",
          "[unit]") {
  const Model model(kTiny);
  const std::string a = "layers.3.attn.";
  const std::string both = "unflatten.int(" + a + "wq(x), -1, [-1, 16])";
  const auto turned = [&](const std::string& name, const std::string& x) {
    return a + "rope(" + a + name + "_norm(" + x + "), positions)";
  };
  const auto heads = [&](const std::string& name) {
    return "unflatten.int(" + a + name + "(x), -1, [-1, 8])";
  };
  const std::string attended =
      a + "inner(" + turned("q", "narrow(" + both + ", -1, 0, 8)") + ", " +
      turned("k", heads("wk")) + ", " + heads("wv") + ", cu_seqlens, doc_id)";
  CHECK(symbolic::run(model.tree.module("layers.3.attn"), {"x"})[0] ==
        a + "wo(flatten.using_ints(mul.Tensor(" + attended +
            ", sigmoid(narrow(" + both + ", -1, 8, 8))), -2, -1))");
  CHECK(model.tree.site(a + "rope").op_id == "titan.rope_cos_sin/1");
  CHECK(model.tree.site(a + "rope").attributes.at("rotary_dim").integer == 2);
  CHECK(model.tree.parameter(a + "wq.weight").sizes ==
        std::vector<int64_t>{64, 8});
  CHECK(model.tree.parameter(a + "wq.weight").spec.shard_granule == 16);
  CHECK(model.tree.parameter(a + "q_norm.weight").spec.mean == 0);
}

TEST_CASE("qwen3_5's flavors have the published sizes", "[unit]") {
  // Heads untied, without the vision tower: reference counts.
  const std::pair<const char*, int64_t> sizes[] = {
      {"debugmodel", 132412336},
      {"0.8B", 1006672704},
      {"2B", 2390384448},
      {"4B", 4841450496},
      {"9B", 8953803264},
      {"27B", 26895998464},
      {"debugmodel_moe", 135290456},
      {"35B-A3B", 34660610688},
      {"122B-A10B", 122111526912},
      {"397B-A17B", 396346350336},
  };
  for (const auto& [name, count] : sizes) {
    INFO(name);
    CHECK(Model(plugin().flavor(name)).num_parameters() == count);
  }
}

TEST_CASE("qwen3_5 counts FLOPs of weights, attention and states", "[unit]") {
  const Model model(plugin().flavor("debugmodel"));
  const double looked_up = 248320.0 * 256;
  const double n = static_cast<double>(model.num_parameters()) - looked_up;
  const double attention = 6.0 * 2 * 4 * (64 + 64) * 1024;
  const double states = 6.0 * 6 * 3 * 4 * 64 * 64;
  CHECK(model.flops_per_token(1024) == 6 * n + attention + states);
}

TEST_CASE("qwen3_5 starts each parameter by its rule", "[unit]") {
  const Model model(kTiny);
  const auto& spec = [&](const std::string& name) {
    return model.tree.parameter(name).spec;
  };
  CHECK(spec("tok_embeddings.weight").init == TITAN_INIT_NORMAL);
  CHECK(spec("tok_embeddings.weight").std == 1);
  const std::string a = "layers.1.attn.";
  CHECK(spec(a + "in_proj_q.weight").std == 0.02);
  CHECK(spec(a + "in_proj_q.weight").shard_granule == 4);
  CHECK(spec(a + "out_proj.weight").std == Approx(0.01));
  CHECK(spec(a + "out_proj.weight").shard == TITAN_SHARD_ROW);
  CHECK(spec(a + "conv_v.weight").init == TITAN_INIT_UNIFORM);
  CHECK(spec(a + "conv_v.weight").high == 0.5);
  CHECK(model.tree.parameter(a + "conv_v.weight").sizes ==
        std::vector<int64_t>{18, 1, 4});
  CHECK(spec(a + "A_log").init == TITAN_INIT_LOG_UNIFORM);
  CHECK(spec(a + "A_log").low == 0.01);
  CHECK(spec(a + "A_log").high == 16);
  CHECK(spec(a + "A_log").shard == TITAN_SHARD_COLUMN);
  CHECK(spec(a + "dt_bias").mean == 1);
  CHECK(spec(a + "norm.weight").mean == 1);
  for (const char* name : {"norm.weight",
                           "layers.1.attention_norm.weight",
                           "layers.2.ffn_norm.weight"})
    CHECK(spec(name).mean == 0);
  CHECK(spec("layers.1.feed_forward.w2.weight").std == Approx(0.01));
  CHECK(spec("lm_head.weight").std == Approx(1 / std::sqrt(8.0)));
}

TEST_CASE("qwen3_5 refuses keys that do not fit together", "[unit]") {
  const auto refused = [](const std::string& more, const std::string& text) {
    CHECK_THROWS_WITH(Model(with(kTiny, more)), text);
  };
  refused(R"("rope":{"partial_factor":0.4})",
          "[model.rope.partial_factor] rotary embedding turns pairs: expected "
          "an even part of head_dim 8, got 3");
  refused(R"("full_attention_layers":[0,4])",
          "[model.full_attention_layers] blocks are counted from 0: expected "
          "less than 4, got 4");
  CHECK_THROWS_WITH(
      Model(R"({"linear_attention":{"num_key_heads":3}})"),
      "[model.linear_attention.num_key_heads] must divide num_value_heads: "
      "expected a divisor of 32, got 3");
}

// Values of a published size, its vision part left out here.
TEST_CASE("qwen3_5 imports the text model of a published config.json",
          "[unit]") {
  const Json config = from_hf(
      R"({"architectures":["Qwen3_5ForConditionalGeneration"],)"
      R"("model_type":"qwen3_5","image_token_id":248056,)"
      R"("text_config":{"attention_bias":false,"attention_dropout":0.0,)"
      R"("attn_output_gate":true,"full_attention_interval":4,)"
      R"("head_dim":256,"hidden_act":"silu","hidden_size":1024,)"
      R"("intermediate_size":3584,"linear_conv_kernel_dim":4,)"
      R"("linear_key_head_dim":128,"linear_num_key_heads":16,)"
      R"("linear_num_value_heads":16,"linear_value_head_dim":128,)"
      R"("max_position_embeddings":262144,"model_type":"qwen3_5_text",)"
      R"("num_attention_heads":8,"num_hidden_layers":24,)"
      R"("num_key_value_heads":2,"rms_norm_eps":1e-06,)"
      R"("tie_word_embeddings":true,"vocab_size":248320,)"
      R"("rope_parameters":{"mrope_interleaved":true,)"
      R"("mrope_section":[11,11,10],"rope_type":"default",)"
      R"("rope_theta":10000000,"partial_rotary_factor":0.25}},)"
      R"("tie_word_embeddings":false,"vision_config":{"depth":12}})");
  const Model imported(config.dump());
  const Model flavor(plugin().flavor("0.8B"));
  CHECK(imported.to_hf() == flavor.to_hf());
}

TEST_CASE("qwen3_5 imports the defaults of transformers", "[unit]") {
  const Json config = from_hf(
      R"({"model_type":"qwen3_5_text","hidden_size":64,)"
      R"("num_hidden_layers":8,"num_attention_heads":4,)"
      R"("num_key_value_heads":4,"intermediate_size":96,"vocab_size":256})");
  const Model model(config.dump());
  CHECK(model.tree.parameter("layers.3.attn.wq.weight").sizes ==
        std::vector<int64_t>{2 * 4 * 256, 64});
  CHECK(model.tree.parameter("layers.4.attn.in_proj_v.weight").sizes ==
        std::vector<int64_t>{32 * 128, 64});
  CHECK(model.key_rules().at("norm.weight").hf == "model.norm.weight");
}

TEST_CASE("qwen3_5 imports the part of a head that is turned", "[unit]") {
  const auto part = [](const std::string& more) {
    return from_hf(with(kHf, more)).at("rope").at("partial_factor").f64();
  };
  CHECK(part(R"("attention_bias":false)") == 0.25);
  CHECK(part(R"("partial_rotary_factor":0.5)") == 0.5);
  CHECK(part(R"("rope_parameters":{"rope_type":"default","rope_theta":1e7},)"
             R"("partial_rotary_factor":0.5)") == 0.5);
  CHECK(part(R"("rope_parameters":{"rope_type":"default","rope_theta":1e7,)"
             R"("partial_rotary_factor":0.75})") == 0.75);
}

TEST_CASE("qwen3_5 imports experts, the text model's own or inside", "[unit]") {
  std::string text =
      with(kHf,
           R"("num_experts":16,)"
           R"("num_experts_per_tok":4,"moe_intermediate_size":24,)"
           R"("shared_expert_intermediate_size":40)");
  // The type decides, as for transformers.
  CHECK_FALSE(from_hf(text).has("moe"));
  text.replace(text.find("qwen3_5_text"), 12, "qwen3_5_moe_text");
  for (const Json& config :
       {from_hf(text),
        from_hf(R"({"model_type":"qwen3_5_moe","text_config":)" + text +
                "}")}) {
    const Json& moe = config.at("moe");
    CHECK(moe.at("num_experts").i64() == 16);
    CHECK(moe.at("top_k").i64() == 4);
    CHECK(moe.at("hidden_dim").i64() == 24);
    CHECK(moe.at("shared_hidden_dim").i64() == 40);
    const Model model(config.dump());
    const Json hf = Json::parse(model.to_hf());
    CHECK(hf.at("model_type").str() == "qwen3_5_moe_text");
    CHECK(hf.at("architectures").dump() == R"(["Qwen3_5MoeForCausalLM"])");
  }
  CHECK_FALSE(from_hf(kHf).has("moe"));
}

TEST_CASE("qwen3_5 adds a gated expert for every token to those of the router",
          "[unit]") {
  const Model model(
      with(kTiny,
           R"("moe":{"num_experts":4,"top_k":2,"hidden_dim":6,)"
           R"("shared_hidden_dim":10,"load_balance_coeff":1e-3})"));
  const auto& spec = [&](const std::string& name) {
    return model.tree.parameter("layers.1.moe." + name).spec;
  };
  CHECK(spec("router.gate.weight").std == Approx(0.01));
  CHECK(spec("routed_experts.inner_experts.w1_EFD").std == 0.02);
  CHECK(spec("routed_experts.inner_experts.w3_EFD").std == Approx(0.01));
  CHECK(spec("shared_experts.w1.weight").std == 0.02);
  CHECK(spec("shared_experts.w2.weight").std == Approx(0.01));
  CHECK(spec("shared_experts.gate.weight").std == 0.02);
  CHECK(model.tree.parameter("layers.1.moe.shared_experts.gate.weight").sizes ==
        std::vector<int64_t>{1, 8});
  CHECK(model.tree.site("layers.1.moe.router.choose")
            .attributes.at("normalise")
            .integer == 1);
  // A token meets two of four experts.
  const double unused = 2.0 * 3 * 6 * 8 * 4;
  const double looked_up = 32.0 * 8;
  const double n = static_cast<double>(model.num_parameters());
  const double attention = 6.0 * 2 * 4 * 8 * 16;
  const double states = 6.0 * 3 * 3 * 6 * 4 * 3;
  CHECK(model.flops_per_token(16) ==
        6 * (n - looked_up - unused) + attention + states);
  CHECK_THROWS_WITH(
      Model(with(kTiny, R"("moe":{"num_experts":2,"top_k":3})")),
      "[model.moe.top_k] a token goes to different experts: expected at most "
      "num_experts 2, got 3");
}

TEST_CASE("qwen3_5 imports which blocks have full attention", "[unit]") {
  const auto layers = [](const std::string& more) {
    return from_hf(with(kHf, more)).at("full_attention_layers").dump();
  };
  CHECK(layers(R"("full_attention_interval":2)") == "[1,3]");
  CHECK(layers(R"("full_attention_interval":4)") == "null");
  CHECK(layers(R"("layer_types":["full_attention","linear_attention",)"
               R"("linear_attention","full_attention"])") == "[0,3]");
  CHECK(layers(R"("layer_types":["linear_attention","linear_attention",)"
               R"("linear_attention","linear_attention"])") == "[]");
}

TEST_CASE("qwen3_5 exports what it imported", "[unit]") {
  const Json config = from_hf(
      with(kHf,
           R"("attention_bias":true,"tie_word_embeddings":true,)"
           R"("full_attention_interval":2,"linear_conv_kernel_dim":3,)"
           R"("linear_num_key_heads":2,"linear_num_value_heads":6,)"
           R"("linear_key_head_dim":8,"linear_value_head_dim":12,)"
           R"("rope_parameters":{"rope_type":"default","rope_theta":5e6,)"
           R"("partial_rotary_factor":0.5})"));
  const Model model(config.dump());
  const Json hf = Json::parse(model.to_hf());
  CHECK(hf.at("model_type").str() == "qwen3_5_text");
  CHECK(hf.at("rope_parameters").at("mrope_section").dump() == "[3,3,2]");
  const Json again = from_hf(hf.dump());
  for (const auto& [key, value] : config.members()) {
    INFO(key);
    CHECK(again.at(key) == value);
  }
}

TEST_CASE("qwen3_5 refuses what its network does not do", "[unit]") {
  const auto refused = [](const std::string& more, const std::string& text) {
    CHECK_THROWS_WITH(from_hf(with(kHf, more)), Catch::Contains(text));
  };
  refused(R"("attn_output_gate":false)",
          "[config.json attn_output_gate] attention has an output gate: "
          "expected true, got false");
  refused(R"("layer_types":["full_attention"])",
          "[config.json layer_types] one for each block: expected 4, got 1");
  refused(R"("layer_types":["full_attention","sliding_attention",)"
          R"("full_attention","full_attention"])",
          "[config.json layer_types] block 1: expected linear_attention or "
          "full_attention, got sliding_attention");
}

TEST_CASE("qwen3_5's key rules cover every parameter once", "[unit]") {
  const Model model(with(kTiny, R"("attention_bias":true)"));
  model.check_key_rules();
  const auto value = model.key_rules().at("layers.{i}.attn.in_proj_v.weight");
  CHECK(value.transform == TITAN_KEY_SLICE);
  CHECK(value.hf == "model.layers.{i}.linear_attn.in_proj_qkv.weight");
  CHECK(value.arg0 == 16);
  const Model sparse(with(
      kTiny, R"("moe":{"num_experts":4,"load_balance_coeff":1e-3,"top_k":2})"));
  sparse.check_key_rules();
  CHECK(sparse.key_rules().at("layers.{i}.moe.shared_experts.gate.weight").hf ==
        "model.layers.{i}.mlp.shared_expert_gate.weight");
}

}  // namespace qwen3_5_test
