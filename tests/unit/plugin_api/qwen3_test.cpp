// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include "tests/unit/plugin_api/built_model.h"

namespace qwen3_test {
namespace {

using symbolic::with;
using titan::Json;

const symbolic::ModelPlugin& plugin() {
  static const symbolic::ModelPlugin loaded("plugins/libtitan_qwen3.so");
  return loaded;
}

struct Model : symbolic::BuiltModel {
  explicit Model(const std::string& json) : BuiltModel(plugin(), json) {}
};

Json from_hf(const std::string& json) {
  return plugin().from_hf(json);
}

// Heads of 6 dims where dim / num_heads is 2.
const std::string kTiny =
    R"({"dim":8,"num_layers":3,"num_heads":4,"num_kv_heads":2,"head_dim":6,)"
    R"("hidden_dim":16,"vocab_size":32})";

// The same with five blocks.
const std::string kFive =
    R"({"dim":8,"num_layers":5,"num_heads":4,"num_kv_heads":2,"head_dim":6,)"
    R"("hidden_dim":16,"vocab_size":32})";

const std::string kHf =
    R"({"model_type":"qwen3","hidden_size":64,"num_hidden_layers":4,)"
    R"("num_attention_heads":4,"num_key_value_heads":2,"head_dim":32,)"
    R"("intermediate_size":96,"vocab_size":256,"rms_norm_eps":1e-6,)"
    R"("max_position_embeddings":128})";

}  // namespace

TEST_CASE("qwen3 declares its sequence, tokens going into the embedding",
          "[unit]") {
  const Model model(kTiny);
  CHECK(model.tree.items ==
        std::vector<std::string>{"tok_embeddings(batch tokens) -> [-1, 8]",
                                 "layers.0() -> [-1, 8]",
                                 "layers.1() -> [-1, 8]",
                                 "layers.2() -> [-1, 8]",
                                 "norm() -> [-1, 8]"});
  CHECK(model.tree.head == "lm_head");
}

TEST_CASE("qwen3 norms each head of q and k before it is turned", "[unit]") {
  const Model model(kTiny);
  const int64_t before = symbolic::live_references();
  const std::string attention =
      symbolic::run(model.tree.module("layers.0.attention"), {"x"})[0];
  const std::string a = "layers.0.attention.";
  const auto head = [&](const std::string& name) {
    return "unflatten.int(" + a + "qkv_linear." + name + "(x), -1, [-1, 6])";
  };
  const auto turned = [&](const std::string& name) {
    return a + "rope(" + a + name + "_norm(" + head("w" + name) +
           "), positions)";
  };
  CHECK(attention == a + "wo(flatten.using_ints(" + a + "inner(" + turned("q") +
                         ", " + turned("k") + ", " + head("wv") +
                         ", cu_seqlens, doc_id), -2, -1))");
  CHECK(model.tree.site(a + "rope").op_id == "titan.rope_cos_sin/1");
  CHECK(model.tree.parameter(a + "q_norm.weight").sizes ==
        std::vector<int64_t>{6});
  CHECK(model.tree.parameter(a + "k_norm.weight").spec.mean == 1);
  CHECK(model.tree.parameter(a + "qkv_linear.wk.weight").sizes ==
        std::vector<int64_t>{12, 8});
  CHECK(symbolic::live_references() == before);
}

TEST_CASE("qwen3's flavors have the published sizes", "[unit]") {
  // Released checkpoints; debugmodel from its shapes. A tied weight counts
  // once.
  const std::pair<const char*, int64_t> sizes[] = {
      {"debugmodel", 31987968},
      {"0.6B", 596049920},
      {"1.7B", 1720574976},
      {"4B", 4022468096},
      {"8B", 8190735360},
      {"14B", 14768307200},
      {"32B", 32762123264},
      {"debugmodel_moe", 315758848},
      {"30B-A3B", 30532122624},
      {"235B-A22B", 235093634560},
  };
  for (const auto& [name, count] : sizes) {
    INFO(name);
    CHECK(Model(plugin().flavor(name)).num_parameters() == count);
  }
}

TEST_CASE("qwen3 counts FLOPs by the formula 6 N + attention", "[unit]") {
  const Model model(plugin().flavor("debugmodel"));
  // The embedding's weight is the head's too.
  const auto n = static_cast<double>(model.num_parameters());
  CHECK(model.flops_per_token(2048) ==
        6 * n + 6.0 * 8 * 16 * (128 + 128) * 2048);
  const Model windowed(
      with(kTiny, R"("sliding_window":5,"sliding_layers":[1,2])"));
  const double per_position = 6.0 * 4 * (6 + 6);
  CHECK(windowed.flops_per_token(16) - Model(kTiny).flops_per_token(16) ==
        per_position * 2 * (5 - 16));
}

TEST_CASE("qwen3 starts each parameter by its rule", "[unit]") {
  const Model model(kTiny);
  for (const char* name : {"tok_embeddings.weight",
                           "layers.1.attention.qkv_linear.wq.weight",
                           "layers.2.attention.wo.weight",
                           "layers.2.feed_forward.w2.weight",
                           "lm_head.weight"}) {
    INFO(name);
    CHECK(model.tree.parameter(name).spec.init == TITAN_INIT_NORMAL);
    CHECK(model.tree.parameter(name).spec.std == 0.02);
  }
  const auto& wq =
      model.tree.parameter("layers.1.attention.qkv_linear.wq.weight").spec;
  CHECK(wq.shard == TITAN_SHARD_COLUMN);
  CHECK(wq.shard_granule == 6);
}

TEST_CASE("qwen3 ties the head to the embedding where it says so", "[unit]") {
  CHECK(Model(kTiny).tree.ties.empty());
  CHECK(Model(with(kTiny, R"("tie_embeddings":true)")).tree.ties ==
        std::vector<std::string>{"lm_head = tok_embeddings.weight"});
}

TEST_CASE("qwen3's windows are those of the blocks that are named", "[unit]") {
  const Model model(
      with(kTiny, R"("sliding_window":5,"sliding_layers":[2,0])"));
  const auto window = [&](const char* block) {
    return model.tree.site(titan::text("layers.", block, ".attention.inner"))
        .attributes.at("window")
        .integer;
  };
  CHECK(window("0") == 5);
  CHECK(window("1") == 0);
  CHECK(window("2") == 5);
}

TEST_CASE("qwen3 refuses keys that do not fit together", "[unit]") {
  const auto refused = [](const std::string& more, const std::string& text) {
    CHECK_THROWS_WITH(Model(with(kTiny, more)), text);
  };
  refused(R"("sliding_window":5)",
          "[model.sliding_window] goes together with sliding_layers: expected "
          "both or none, got only the window");
  refused(R"("sliding_layers":[0])",
          "[model.sliding_window] goes together with sliding_layers: expected "
          "both or none, got only the layers");
  refused(R"("sliding_window":5,"sliding_layers":[3])",
          "[model.sliding_layers] blocks are counted from 0: expected less "
          "than 3, got 3");
  CHECK_THROWS_WITH(
      Model(R"({"num_heads":32,"num_kv_heads":6})"),
      "[model.num_kv_heads] must divide num_heads: expected a divisor of 32, "
      "got 6");
}

TEST_CASE("qwen3 imports the defaults of transformers", "[unit]") {
  Json config = from_hf(
      R"({"model_type":"qwen3","hidden_size":64,"num_hidden_layers":2,)"
      R"("num_attention_heads":4,"intermediate_size":96,"vocab_size":256})");
  CHECK(config.dump() ==
        R"({"dim":64,"num_layers":2,"num_heads":4,"hidden_dim":96,)"
        R"("vocab_size":256,"norm_eps":1e-06,)"
        R"("tie_embeddings":false,"max_position":32768,)"
        R"("attention_bias":false,"rope":{"theta":10000.0},"num_kv_heads":32,)"
        R"("head_dim":128})");
}

// Values of Qwen3-0.6B as published.
TEST_CASE("qwen3 imports a published config.json as its flavor", "[unit]") {
  const Json config = from_hf(
      R"({"architectures":["Qwen3ForCausalLM"],"attention_bias":false,)"
      R"("attention_dropout":0.0,"bos_token_id":151643,"eos_token_id":151645,)"
      R"("head_dim":128,"hidden_act":"silu","hidden_size":1024,)"
      R"("initializer_range":0.02,"intermediate_size":3072,)"
      R"("max_position_embeddings":40960,"max_window_layers":28,)"
      R"("model_type":"qwen3","num_attention_heads":16,)"
      R"("num_hidden_layers":28,"num_key_value_heads":8,"rms_norm_eps":1e-06,)"
      R"("rope_scaling":null,"rope_theta":1000000,"sliding_window":null,)"
      R"("tie_word_embeddings":true,"torch_dtype":"bfloat16",)"
      R"("transformers_version":"4.51.0","use_cache":true,)"
      R"("use_sliding_window":false,"vocab_size":151936})");
  const Model imported(config.dump());
  const Model flavor(plugin().flavor("0.6B"));
  CHECK(imported.to_hf() == flavor.to_hf());
  CHECK(imported.num_parameters() == flavor.num_parameters());
}

TEST_CASE("qwen3 imports windows as layer_types or max_window_layers give them",
          "[unit]") {
  const auto layers = [](const std::string& more) {
    const Json config = from_hf(with(kHf, more));
    const Json* found = config.find("sliding_layers");
    return found == nullptr ? "none" : found->dump();
  };
  CHECK(layers(R"("sliding_window":8,"max_window_layers":2)") == "none");
  const std::string on = R"("use_sliding_window":true,)";
  CHECK(layers(on + R"("sliding_window":8,"max_window_layers":2)") == "[2,3]");
  CHECK(layers(on + R"("sliding_window":8)") == "none");
  CHECK(layers(on + R"("sliding_window":null,"max_window_layers":0)") ==
        "none");
  CHECK(layers(on + R"("sliding_window":8,"layer_types":["full_attention",)"
                    R"("sliding_attention","full_attention",)"
                    R"("sliding_attention"],"max_window_layers":0)") ==
        "[1,3]");
  const Json defaulted = from_hf(with(kHf, on + R"("max_window_layers":0)"));
  CHECK(defaulted.at("sliding_window").i64() == 4096);
}

TEST_CASE("qwen3 imports YaRN as published for longer contexts", "[unit]") {
  const Json config = from_hf(
      with(kHf,
           R"("rope_theta":1000000,"rope_scaling":{"rope_type":"yarn",)"
           R"("factor":4.0,"original_max_position_embeddings":32768})"));
  const Model model(config.dump());
  const double factor = 0.1 * std::log(4.0) + 1;
  CHECK(
      model.tree.site("layers.0.attention.inner").attributes.at("scale").real ==
      Approx(factor * factor / std::sqrt(32.0)));
  const auto& rope = model.tree.site("layers.0.attention.rope");
  CHECK(rope.strings.at("scaling") == "yarn");
  CHECK(rope.attributes.at("original_max_position").integer == 32768);
}

TEST_CASE("qwen3 exports what it imported", "[unit]") {
  const Json config = from_hf(
      with(kHf,
           R"("attention_bias":true,"tie_word_embeddings":true,)"
           R"("use_sliding_window":true,"sliding_window":8,)"
           R"("max_window_layers":3,"rope_parameters":{"rope_type":"yarn",)"
           R"("rope_theta":5e6,"factor":2.0,"beta_fast":16.0,)"
           R"("original_max_position_embeddings":64})"));
  const Model model(config.dump());
  CHECK(model.tree.parameter("layers.0.attention.qkv_linear.wk.bias")
            .spec.shard == TITAN_SHARD_COLUMN);
  const Json hf = Json::parse(model.to_hf());
  CHECK(hf.at("model_type").str() == "qwen3");
  CHECK(hf.at("max_window_layers").i64() == 3);
  const Json again = from_hf(hf.dump());
  for (const auto& [key, value] : config.members()) {
    INFO(key);
    if (key != "rope") CHECK(again.at(key) == value);
  }
  CHECK(again.at("rope").at("scaling").at("beta_fast").f64() == 16);
  CHECK(again.at("rope").at("theta").f64() == 5e6);
}

TEST_CASE("qwen3 refuses what its network does not do", "[unit]") {
  const auto refused = [](const std::string& more, const std::string& text) {
    CHECK_THROWS_WITH(from_hf(with(kHf, more)), Catch::Contains(text));
  };
  refused(R"("hidden_act":"gelu")",
          "[config.json hidden_act] the feed-forward is SwiGLU: expected silu, "
          "got gelu");
  refused(R"("attention_dropout":0.1)", "[config.json attention_dropout]");
  refused(R"("rope_scaling":{"type":"dynamic","factor":4.0})",
          "expected default, llama3, linear or yarn, got dynamic");
  refused(R"("dual_chunk_attention_config":{"chunk_size":8})",
          "[config.json dual_chunk_attention_config] is not supported: "
          "expected none, got one");
  refused(R"("layer_types":["full_attention"])",
          "[config.json layer_types] one for each block: expected 4, got 1");
  refused(R"("layer_types":["full_attention","linear_attention",)"
          R"("full_attention","full_attention"])",
          "[config.json layer_types] block 1: expected full_attention or "
          "sliding_attention, got linear_attention");
  refused(R"("layer_types":["full_attention","sliding_attention",)"
          R"("full_attention","full_attention"])",
          "[config.json use_sliding_window] layer_types has sliding "
          "attention: expected true and a sliding_window, got none");
}

TEST_CASE("qwen3's key rules cover every parameter once", "[unit]") {
  Model(with(kTiny, R"("attention_bias":true)")).check_key_rules();
  const auto rules = Model(kTiny).key_rules();
  // Both sides turn halves of a head.
  const auto wq = rules.at("layers.{i}.attention.qkv_linear.wq.weight");
  CHECK(wq.transform == TITAN_KEY_IDENTITY);
  CHECK(rules.at("layers.{i}.attention.k_norm.weight").hf ==
        "model.layers.{i}.self_attn.k_norm.weight");
  CHECK(rules.count("layers.{i}.attention.qkv_linear.wq.bias") == 0);
}

TEST_CASE("qwen3 has experts in the blocks that are neither skipped nor named",
          "[unit]") {
  const auto blocks = [](const std::string& more) {
    const Model model(with(
        kFive,
        R"("moe":{"num_experts":4,"top_k":2,)" + more + R"("hidden_dim":6})"));
    std::string out;
    for (int layer = 0; layer < 5; ++layer) {
      const auto& parameters = model.tree.parameters;
      const std::string dense =
          titan::text("layers.", layer, ".feed_forward.w1.weight");
      out += std::any_of(parameters.begin(),
                         parameters.end(),
                         [&](const auto& p) { return p->fqn == dense; })
                 ? 'd'
                 : 'e';
    }
    return out;
  };
  CHECK(blocks("") == "eeeee");
  CHECK(blocks(R"("sparse_step":2,)") == "deded");
  CHECK(blocks(R"("sparse_step":2,"dense_layers":[3,0],)") == "deddd");
  CHECK_THROWS_WITH(blocks(R"("dense_layers":[5],)"),
                    "[model.moe.dense_layers] blocks are counted from 0: "
                    "expected less than 5, got 5");
}

TEST_CASE("qwen3 stacks experts and starts them by their rule", "[unit]") {
  const Model model(with(
      kTiny,
      R"("moe":{"num_experts":4,"top_k":2,"hidden_dim":6,"sparse_step":3})"));
  const std::string inner = "layers.2.moe.routed_experts.inner_experts.";
  const auto& w2 = model.tree.parameter(inner + "w2_EDF");
  CHECK(w2.sizes == std::vector<int64_t>{4, 8, 6});
  CHECK(w2.spec.std == Approx(0.02 / std::sqrt(6.0)));
  CHECK(w2.spec.shard == TITAN_SHARD_EXPERT);
  CHECK(model.tree.parameter(inner + "w3_EFD").spec.std == 0.02);
  CHECK(model.tree.parameter("layers.0.attention.wo.weight").spec.std ==
        Approx(0.02 / std::sqrt(6.0)));
  CHECK(model.tree.parameter("layers.0.feed_forward.w2.weight").spec.std ==
        0.02);
  model.check_key_rules();
  const auto w1 = model.key_rules().at(
      "layers.{i}.moe.routed_experts.inner_experts.w1_EFD");
  CHECK(w1.transform == TITAN_KEY_STACK);
  CHECK(w1.hf == "model.layers.{i}.mlp.experts.{e}.gate_proj.weight");
}

TEST_CASE("qwen3 counts FLOPs of the experts that a token meets", "[unit]") {
  const auto flops = [](const std::string& more) {
    return Model(with(kTiny,
                      R"("moe":{"num_experts":4,"hidden_dim":6,)" + more + "}"))
        .flops_per_token(16);
  };
  CHECK(flops(R"("top_k":3)") - flops(R"("top_k":2)") ==
        6.0 * 3 * 3 * 8 * 6);  // three blocks, three matrices
}

// Values of Qwen3-30B-A3B as published.
TEST_CASE("qwen3 imports a published config.json with experts as its flavor",
          "[unit]") {
  const Json config = from_hf(
      R"({"architectures":["Qwen3MoeForCausalLM"],"attention_bias":false,)"
      R"("attention_dropout":0.0,"bos_token_id":151643,)"
      R"("decoder_sparse_step":1,"eos_token_id":151645,"head_dim":128,)"
      R"("hidden_act":"silu","hidden_size":2048,"initializer_range":0.02,)"
      R"("intermediate_size":6144,"max_position_embeddings":40960,)"
      R"("max_window_layers":48,"mlp_only_layers":[],)"
      R"("model_type":"qwen3_moe","moe_intermediate_size":768,)"
      R"("norm_topk_prob":true,"num_attention_heads":32,"num_experts":128,)"
      R"("num_experts_per_tok":8,"num_hidden_layers":48,)"
      R"("num_key_value_heads":4,"output_router_logits":false,)"
      R"("rms_norm_eps":1e-06,"rope_scaling":null,"rope_theta":1000000.0,)"
      R"("router_aux_loss_coef":0.001,"sliding_window":null,)"
      R"("tie_word_embeddings":false,"torch_dtype":"bfloat16",)"
      R"("use_sliding_window":false,"vocab_size":151936})");
  CHECK(!config.at("moe").has("load_balance_coeff"));
  const Model imported(config.dump());
  Json unbalanced = Json::parse(plugin().flavor("30B-A3B"));
  unbalanced["moe"]["load_balance_coeff"] = Json();
  const Model flavor(unbalanced.dump());
  CHECK(imported.to_hf() == flavor.to_hf());
  CHECK(imported.num_parameters() == flavor.num_parameters());
}

TEST_CASE("qwen3 with experts imports the defaults of transformers", "[unit]") {
  const std::string json =
      R"({"model_type":"qwen3_moe","hidden_size":64,"num_hidden_layers":2,)"
      R"("num_attention_heads":4,"intermediate_size":96,"vocab_size":256})";
  const Json config = from_hf(json);
  CHECK(config.at("head_dim").i64() == 16);
  CHECK(config.at("moe").dump() ==
        R"({"num_experts":128,"top_k":8,"hidden_dim":768,)"
        R"("normalise":false,"sparse_step":1})");
  const Json windowed =
      from_hf(with(json, R"("use_sliding_window":true,"sliding_window":4)"));
  CHECK(windowed.at("sliding_layers").dump() == "[0,1]");
  CHECK_THROWS_WITH(from_hf(with(json, R"("output_router_logits":true)")),
                    "[config.json output_router_logits] its balance loss is "
                    "not supported: expected false, got true");
}

TEST_CASE("qwen3 with experts exports one window for all blocks or none",
          "[unit]") {
  const std::string moe = R"("moe":{"num_experts":4,"top_k":2},)";
  const Model some(
      with(kTiny, moe + R"("sliding_window":5,"sliding_layers":[2])"));
  CHECK_THROWS_WITH(some.to_hf(),
                    Catch::Contains("[model.sliding_layers] Hugging Face's "
                                    "qwen3_moe has one window for all blocks"));
  const Model all(
      with(kTiny, moe + R"("sliding_window":5,"sliding_layers":[0,1,2])"));
  CHECK(from_hf(all.to_hf()).at("sliding_layers").dump() == "[0,1,2]");
  CHECK_THROWS_WITH(
      Model(with(kTiny, R"("moe":{"num_experts":4,"top_k":5})")),
      "[model.moe.top_k] a token goes to different experts: expected at most "
      "num_experts 4, got 5");
}

}  // namespace qwen3_test
