// SPDX-License-Identifier: BSD-3-Clause
// config.json of every family, read as transformers reads it: defaults, nulls,
// ropes, and values that are refused because the network does not have them.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>

#include "tests/unit/plugin_api/built_model.h"

namespace hf_config_test {
namespace {

using symbolic::with;
using titan::Json;

const symbolic::ModelPlugin& plugin_of(const std::string& type) {
  static std::map<std::string, symbolic::ModelPlugin> loaded;
  const std::string family = type == "llama"                  ? "llama3"
                             : type.starts_with("qwen3_5")    ? "qwen3_5"
                             : type.starts_with("qwen3")      ? "qwen3"
                             : type.starts_with("deepseek_v") ? "deepseek_v3"
                                                              : "gpt";
  return loaded.try_emplace(family, "plugins/libtitan_" + family + ".so")
      .first->second;
}

/// A config.json of the type with only these keys.
std::string file_of(const std::string& type, const std::string& more) {
  const std::string json = R"({"model_type":")" + type + R"("})";
  const std::string needed =
      type == "deepseek_v2" ? with(json, R"("num_experts_per_tok":6)") : json;
  return more.empty() ? needed : with(needed, more);
}

Json import(const std::string& type, const std::string& more = "") {
  return plugin_of(type).from_hf(file_of(type, more));
}

Json exported(const std::string& type, const std::string& more = "") {
  return Json::parse(
      symbolic::BuiltModel(plugin_of(type), import(type, more).dump()).to_hf());
}

/// That config.json is refused, by a message that has `text`.
void refused(const std::string& type,
             const std::string& more,
             const std::string& text) {
  INFO(type << ' ' << more);
  CHECK_THROWS_WITH(import(type, more), Catch::Contains(text));
}

/// Each value of `expected` that `got` has too; returns how many.
int check_values(const Json& expected, const Json& got) {
  int count = 0;
  for (const auto& [key, value] : expected.members()) {
    const Json* const found = got.find(key);
    if (found == nullptr) continue;  // transformers takes it then
    INFO(key);
    ++count;
    if (value.is_object())
      count += check_values(value, *found);
    else if (value.is_number())
      CHECK(found->f64() == value.f64());
    else if (value != "gelu_new")  // gelu_pytorch_tanh's other name
      CHECK(*found == value);
  }
  return count;
}

const char* const kTypes[] = {"llama",
                              "qwen3",
                              "qwen3_moe",
                              "qwen3_5_text",
                              "qwen3_5_moe_text",
                              "deepseek_v3",
                              "deepseek_v2",
                              "gpt2",
                              "gpt_neox",
                              "gemma2",
                              "olmo2",
                              "mixtral"};

}  // namespace

TEST_CASE("keys that config.json leaves out have transformers' values",
          "[unit]") {
  std::ifstream file(TITAN_SOURCE_DIR
                     "/tests/golden/transformers/defaults.json");
  std::stringstream text;
  text << file.rdbuf();
  const Json defaults = Json::parse(text.str());
  for (const std::string type : kTypes) {
    INFO(type);
    CHECK(check_values(defaults.at(type), exported(type)) >= 9);
  }
}

// With the keys of the published files that others had not, or that mean
// nothing to the network; numbers of parameters are those of the checkpoints.
TEST_CASE("published config.json files are read", "[unit]") {
  const auto check =
      [](const std::string& type, const std::string& keys, int64_t parameters) {
        INFO(type << ' ' << keys);
        const symbolic::BuiltModel model(plugin_of(type),
                                         import(type, keys).dump());
        CHECK(model.num_parameters() == parameters);
      };
  check("llama",  // SmolLM2-135M
        R"("hidden_size":576,"intermediate_size":1536,"num_hidden_layers":30,)"
        R"("num_attention_heads":9,"num_key_value_heads":3,"vocab_size":49152,)"
        R"("tie_word_embeddings":true,"is_llama_config":true,)"
        R"("pretraining_tp":1,"rope_interleaved":false,"rope_scaling":null,)"
        R"("rope_theta":100000,"hidden_act":"silu","attention_dropout":0.0)",
        134'515'008);
  check(
      "deepseek_v2",  // V2
      R"("hidden_size":5120,"intermediate_size":12288,"aux_loss_alpha":0.001,)"
      R"("num_hidden_layers":60,"num_attention_heads":128,"ep_size":1,)"
      R"("num_key_value_heads":128,"moe_intermediate_size":1536,)"
      R"("moe_layer_freq":1,"n_group":8,"topk_group":3,"seq_aux":true,)"
      R"("n_routed_experts":160,"n_shared_experts":2,"norm_topk_prob":false,)"
      R"("first_k_dense_replace":1,"topk_method":"group_limited_greedy",)"
      R"("scoring_func":"softmax","routed_scaling_factor":16.0)",
      235'741'434'880);
  check("deepseek_v3",  // Moonlight-16B-A3B
        R"("hidden_size":2048,"intermediate_size":11264,"q_lora_rank":null,)"
        R"("num_hidden_layers":27,"num_attention_heads":16,"n_group":1,)"
        R"("num_key_value_heads":16,"moe_intermediate_size":1408,)"
        R"("topk_group":1,"n_routed_experts":64,"n_shared_experts":2,)"
        R"("num_experts_per_tok":6,"first_k_dense_replace":1,)"
        R"("topk_method":"noaux_tc","scoring_func":"sigmoid",)"
        R"("num_nextn_predict_layers":0,"vocab_size":163840)",
        15'960'108'544);
  check("gpt_neox",  // Pythia-70m
        R"("hidden_size":512,"intermediate_size":2048,"num_hidden_layers":6,)"
        R"("num_attention_heads":8,"vocab_size":50304,"rotary_pct":0.25,)"
        R"("rotary_emb_base":10000,"use_parallel_residual":true)",
        70'426'624);
  check(
      "gemma2",  // Gemma 2 2B
      R"("cache_implementation":"hybrid","hidden_act":"gelu_pytorch_tanh",)"
      R"("hidden_activation":"gelu_pytorch_tanh","sliding_window":4096,)"
      R"("attention_bias":false,"attention_dropout":0.0,"rope_theta":10000.0)",
      2'614'341'888);
  check("olmo2",  // OLMo 2 7B
        R"("vocab_size":100352,"rms_norm_eps":1e-06,"rope_theta":500000,)"
        R"("rope_scaling":null,"num_key_value_heads":32)",
        7'298'617'344);
  check("mixtral",  // 8x7B
        R"("sliding_window":null,"output_router_logits":false,)"
        R"("router_aux_loss_coef":0.02,"rope_theta":1000000.0)",
        46'702'792'704);
}

TEST_CASE("config.json's values are of their key's kind", "[unit]") {
  for (const std::string type : kTypes) {
    const std::string width = type == "gpt2" ? "n_embd" : "hidden_size";
    for (const char* value : {"null", "8.5", R"("8")"})
      refused(type, '"' + width + "\":" + value, "[config.json " + width + "]");
    refused(type, R"("tie_word_embeddings":null)", "tie_word_embeddings]");
  }
  CHECK(import("llama", R"("num_key_value_heads":null,"head_dim":null)")
            .at("num_kv_heads")
            .i64() == 32);
  CHECK(import("qwen3", R"("num_attention_heads":8)").at("num_kv_heads") == 32);
  refused("qwen3", R"("head_dim":null)", "[config.json head_dim] expected an");
  refused("gemma2",
          R"("num_key_value_heads":null)",
          "[config.json num_key_value_heads] is of another kind: expected an "
          "integer, got null");
  refused("qwen3_moe",
          R"("num_attention_heads":0)",
          "[config.json num_attention_heads] expected 1 or more, got 0");
  refused("qwen3_5_text",
          R"("full_attention_interval":0)",
          "[config.json full_attention_interval] expected 1 or more, got 0");
  CHECK(import("gpt_neox", R"("num_attention_heads":0,"head_dim":8)")
            .at("num_heads") == 0);  // the schema refuses it
  CHECK(import("gpt2", R"("n_inner":null)").find("hidden_dim") == nullptr);
}

TEST_CASE("config.json may call a key by transformers' other name", "[unit]") {
  CHECK(import("gpt2", R"("hidden_size":24,"num_hidden_layers":3)").at("dim") ==
        24);
  const auto experts = [](const char* type, const char* key) {
    return import(type, '"' + std::string(key) + R"(":16)")
        .at("moe")
        .at("num_experts")
        .i64();
  };
  CHECK(experts("mixtral", "num_experts") == 16);
  CHECK(experts("qwen3_moe", "num_experts") == 16);
  CHECK(experts("qwen3_moe", "num_local_experts") == 16);
  CHECK(experts("deepseek_v3", "num_local_experts") == 16);
  CHECK(experts("deepseek_v2", "num_experts") == 16);
  refused("mixtral",
          R"("num_experts":16,"num_local_experts":8)",
          "[config.json num_experts] is another name of num_local_experts: "
          "expected 8, got 16");
  refused("deepseek_v3",
          R"("n_routed_experts":16,"num_local_experts":8)",
          "[config.json num_local_experts] is another name of");
}

TEST_CASE("config.json's rope is read as transformers does", "[unit]") {
  const auto scaling = [](const std::string& rope,
                          const std::string& more = "") {
    return import("llama", R"("rope_scaling":{)" + rope + "}" + more)
        .at("rope")
        .at("scaling");
  };
  // The first of two that says anything, and a length beside them.
  const Json both =
      import("llama",
             R"("rope_parameters":{"rope_type":"default","rope_theta":7.0},)"
             R"("rope_scaling":{"type":"linear","factor":2.0})");
  CHECK(both.at("rope").at("theta") == 10000.0);
  CHECK(both.at("rope").at("scaling").at("type").str() == "linear");
  CHECK(import("llama",
               R"("rope_parameters":{"rope_type":"default","rope_theta":7.0},)"
               R"("rope_scaling":{})")
            .at("rope")
            .dump() == R"({"theta":7.0})");
  // transformers: 1024 / 256, and 32 and 1 for nothing.
  const Json yarn =
      scaling(R"("type":"yarn","factor":null,"beta_fast":0,"beta_slow":null,)"
              R"("original_max_position_embeddings":512,"truncate":null)",
              R"(,"original_max_position_embeddings":256,)"
              R"("max_position_embeddings":1024)");
  CHECK(yarn.dump() ==
        R"({"type":"yarn","factor":4.0,"original_max_position":256,)"
        R"("beta_fast":32.0,"beta_slow":1.0,"truncate":false})");
  // The family's own length where there is none.
  CHECK(import("gemma2", R"("rope_scaling":{"type":"yarn","factor":2.0})")
            .at("rope")
            .at("scaling")
            .at("original_max_position") == 8192);
  for (const std::string type : kTypes) {
    if (type == "gpt2") continue;
    refused(type,
            R"("rope_parameters":{"full_attention":{"rope_type":"default"}})",
            "[config.json rope_parameters.full_attention] all blocks have one "
            "rope: expected none");
    refused(type, R"("rope_scaling":{"type":"linear"})", "factor]");
    if (type.starts_with("qwen3_5") || type == "gpt_neox") continue;
    for (const char* key : {R"("partial_rotary_factor":0.5)",
                            R"("rope_parameters":{"rope_type":"default",)"
                            R"("partial_rotary_factor":0.5})"})
      refused(type, key, "partial_rotary_factor] whole heads are turned");
  }
}

TEST_CASE("gpt_neox's rope has names of its own", "[unit]") {
  const auto rope = [](const std::string& more) {
    return import("gpt_neox", more).at("rope");
  };
  const Json named =
      rope(R"("rotary_emb_base":500,"rotary_pct":0.5,"rope_theta":9.0,)"
           R"("partial_rotary_factor":0.75)");
  CHECK(named.at("theta") == 500.0);
  CHECK(named.at("fraction") == 0.5);
  CHECK(rope(R"("rope_theta":9.0)").at("theta") == 10000.0);
  refused("gpt_neox",
          R"("head_dim":32)",
          "[config.json head_dim] heads share the model's dims: expected 96, "
          "got 32");
}

// As transformers computes for YaRN by 40: the factor of cos and sin, and of
// the scores beside dims^-0.5 (DeepSeek's alone).
TEST_CASE("mscale and mscale_all_dim of 0 say nothing", "[unit]") {
  struct Case {
    const char* text;
    double turned, scores;
  };
  const Case cases[] = {
      {"", 1.368888, 1},
      {R"("mscale_all_dim":0.5)", 1.368888, 1.402908},
      {R"("mscale":0.707)", 1.368888, 1},
      {R"("mscale":0,"mscale_all_dim":0)", 1.368888, 1},
      {R"("mscale":0,"mscale_all_dim":0.5)", 1.368888, 1.402908},
      {R"("mscale":0.707,"mscale_all_dim":0.0)", 1.368888, 1},
      {R"("mscale":null,"mscale_all_dim":0.5)", 1.368888, 1.402908},
      {R"("mscale":2,"mscale_all_dim":0.5)", 1.467166, 1.402908},
      {R"("mscale":0.707,"mscale_all_dim":0.707)", 1, 1.589626}};
  const auto yarn = [](const Case& c) {
    return std::string(R"("rope_scaling":{"type":"yarn","factor":40.0,)"
                       R"("original_max_position_embeddings":4096)") +
           (*c.text != 0 ? "," : "") + c.text + "}";
  };
  const auto deepseek = [](const Json& config) {
    const symbolic::BuiltModel model(plugin_of("deepseek_v3"), config.dump());
    const auto& tree = model.tree;
    return std::pair(
        tree.site("layers.0.attention.rope").attributes.at("magnitude").real,
        tree.site("layers.0.attention.inner").attributes.at("scale").real *
            std::sqrt(192.0));
  };
  for (const Case& c : cases) {
    INFO(c.text);
    for (const std::string type : {"deepseek_v3", "deepseek_v2"}) {
      const Json config = import(type, yarn(c));
      const auto [turned, scores] = deepseek(config);
      CHECK(turned == Approx(c.turned).epsilon(1e-6));
      CHECK(scores == Approx(c.scores).epsilon(1e-6));
      CHECK(deepseek(plugin_of(type).from_hf(exported(type, yarn(c)).dump())) ==
            deepseek(config));
    }
    const symbolic::BuiltModel llama(plugin_of("llama"),
                                     import("llama", yarn(c)).dump());
    CHECK(llama.tree.site("layers.0.attention.inner")
                  .attributes.at("scale")
                  .real *
              std::sqrt(128.0) ==
          Approx(c.turned * c.turned).epsilon(1e-5));
  }
}

// A recipe's 0 is a factor of the formula; transformers' 0 would not be.
TEST_CASE("deepseek exports an mscale of 0 as the factor it makes", "[unit]") {
  const symbolic::BuiltModel model(
      plugin_of("deepseek_v3"),
      R"({"rope":{"scaling":{"type":"yarn","mscale":0,)"
      R"("mscale_all_dim":0.5}}})");
  const Json hf = Json::parse(model.to_hf());
  CHECK(hf.at("rope_parameters").at("attention_factor").f64() ==
        Approx(1 / (0.05 * std::log(40.0) + 1)));
}

TEST_CASE("deepseek's routers are the two that config.json can name",
          "[unit]") {
  const std::string v3 = "deepseek_v3", v2 = "deepseek_v2";
  for (const char* method : {"greedy", "group_limited_greedy"})
    refused(v3,
            R"("topk_method":")" + std::string(method) + '"',
            "[config.json topk_method] is another router: expected noaux_tc, "
            "got " +
                std::string(method));
  refused(v3, R"("scoring_func":"softmax")", "[config.json scoring_func] is");
  refused(v3, R"("n_group":null)", "[config.json n_group] expected an integer");
  refused(v3,
          R"("n_group":1)",
          "[config.json topk_group] are some of n_group: expected at most 1, "
          "got none");
  refused(v3, R"("first_k_dense_replace":null)", "first_k_dense_replace]");
  CHECK(import(v3, R"("topk_method":"noaux_tc","norm_topk_prob":null)")
            .at("moe")
            .at("normalise") == false);
  CHECK(import(v3, R"("rope_interleave":null)").at("rope").at("interleaved") ==
        false);
  CHECK(import(v3, R"("n_shared_experts":null,"q_lora_rank":null)")
            .at("q_lora_rank") == 0);
  refused(v2, R"("topk_method":"noaux_tc")", "expected greedy or group_");
  refused(v2, R"("topk_method":null)", "[config.json topk_method] expected a");
  refused(v2, R"("scoring_func":"sigmoid")", "expected softmax, got sigmoid");
  refused(v2,
          R"("topk_method":"group_limited_greedy","n_group":8)",
          "[config.json topk_group] is of topk_method: expected a number, got "
          "none");
  refused(v2, R"("mlp_bias":true)", "[config.json mlp_bias] feed-forwards");
  CHECK(import(v2, R"("norm_topk_prob":null,"n_group":null)")
            .at("moe")
            .at("num_groups") == 1);
  CHECK_THROWS_WITH(
      plugin_of(v2).from_hf(R"({"model_type":"deepseek_v2"})"),
      Catch::Contains("[config.json num_experts_per_tok] has no default"));
}

TEST_CASE("deepseek's heads all have keys of their own", "[unit]") {
  const std::string v3 = "deepseek_v3";
  refused(v3,
          R"("num_key_value_heads":32)",
          "[config.json num_key_value_heads] every head has keys of its own: "
          "expected 128, got 32");
  refused("deepseek_v2", R"("num_key_value_heads":8)", "expected 32, got 8");
  for (const char* heads : {"null", "16"})
    CHECK(import(v3,
                 R"("num_attention_heads":16,"num_key_value_heads":)" +
                     std::string(heads))
              .at("num_heads") == 16);
  refused(v3, R"("q_lora_rank":0)", "[config.json q_lora_rank] are dims of a");
}

TEST_CASE("config.json of gpt's families names what they have", "[unit]") {
  CHECK(import("olmo2", R"("head_dim":64)").at("head_dim") == 64);
  CHECK(exported("olmo2", R"("head_dim":64)").at("head_dim") == 64);
  refused("gemma2",
          R"("final_logit_softcapping":0)",
          "[config.json final_logit_softcapping] is written otherwise: "
          "expected null, got 0");
  refused("gemma2",
          R"("layer_types":["full_attention"])",
          "[config.json layer_types] one for each block: expected 26");
  CHECK(import("gemma2", R"("layer_types":null)")
            .at("attention")
            .at("layer_types")
            .size() == 2);
  CHECK(import("llama", R"("hidden_act":"swish")").at("dim") == 4096);
}

TEST_CASE(
    "heads that do not divide the width are not exported to those who "
    "insist",
    "[unit]") {
  const auto to_hf = [](const std::string& type, const std::string& config) {
    return symbolic::BuiltModel(plugin_of(type), config).to_hf();
  };
  const std::string odd = R"({"dim":10,"num_heads":4,"head_dim":4})";
  CHECK_THROWS_WITH(
      to_hf("llama", with(odd, R"("num_kv_heads":4)")),
      Catch::Contains("[model.num_heads] must divide dim in Hugging Face's "
                      "llama: expected a divisor of 10"));
  CHECK_NOTHROW(to_hf("qwen3", with(odd, R"("num_kv_heads":4)")));
  CHECK_THROWS_WITH(to_hf("gemma2", with(odd, R"("hf":{"layout":"llama"})")),
                    Catch::Contains("[model.num_heads] must divide dim"));
}

TEST_CASE("a bias of experts is exported, or the export is refused", "[unit]") {
  using Catch::Contains;
  const auto to_hf = [](const std::string& type, const std::string& config) {
    return symbolic::BuiltModel(plugin_of(type), config).to_hf();
  };
  const auto check = [&](const std::string& type,
                         const std::string& moe,
                         const std::string& theirs) {
    const auto config = [&](const char* coeff) {
      return R"({"moe":{)" + moe + R"(,"load_balance_coeff":)" + coeff + "}}";
    };
    CHECK_THROWS_WITH(
        to_hf(type, config("0.001")),
        Contains("[model.moe.load_balance_coeff] Hugging Face's " + theirs +
                 " has no bias of experts: expected null to be exported, got "
                 "0.001"));
    CHECK_NOTHROW(to_hf(type, config("null")));
  };
  check("qwen3", R"("num_experts":4,"top_k":2)", "qwen3_moe");
  check("qwen3_5_text", R"("num_experts":4,"top_k":2)", "qwen3_5_moe_text");
  check("deepseek_v2",
        R"("score":"softmax","num_groups":1,"normalise":false)",
        "deepseek_v2");
  // V3's folders have one, moved or not.
  const symbolic::BuiltModel v3(plugin_of("deepseek_v3"),
                                R"({"moe":{"load_balance_coeff":null}})");
  CHECK(v3.key_rules().at("layers.{i}.moe.expert_bias_E").hf ==
        "model.layers.{i}.mlp.gate.e_score_correction_bias");
  const auto& buffers = v3.tree.buffers;
  CHECK(std::any_of(buffers.begin(), buffers.end(), [](const auto& fqn) {
    return *fqn == "layers.3.moe.expert_bias_E";
  }));
}

}  // namespace hf_config_test
