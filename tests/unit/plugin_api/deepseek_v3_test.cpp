// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include "tests/unit/plugin_api/built_model.h"

namespace deepseek_v3_test {
namespace {

using symbolic::with;
using titan::Json;

const symbolic::ModelPlugin& plugin() {
  static const symbolic::ModelPlugin loaded("plugins/libtitan_deepseek_v3.so");
  return loaded;
}

struct Model : symbolic::BuiltModel {
  explicit Model(const std::string& json) : BuiltModel(plugin(), json) {}
  bool has(const std::string& fqn) const {
    return std::any_of(tree.parameters.begin(),
                       tree.parameters.end(),
                       [&](const auto& p) { return p->fqn == fqn; });
  }
};

Json from_hf(const std::string& json) {
  return plugin().from_hf(json);
}

const std::string kMoe =
    R"("moe":{"num_experts":8,"top_k":2,"hidden_dim":6,"num_groups":4,)"
    R"("num_limited_groups":2})";

const std::string kTiny = with(
    R"({"dim":8,"num_layers":3,"num_dense_layers":1,"num_heads":4,)"
    R"("q_lora_rank":5,"kv_lora_rank":7,"qk_nope_head_dim":6,)"
    R"("qk_rope_head_dim":4,"v_head_dim":3,"hidden_dim":16,"vocab_size":32})",
    kMoe);

// Of DeepSeek-V3 as published.
const std::string kPublished =
    R"({"architectures":["DeepseekV3ForCausalLM"],"attention_bias":false,)"
    R"("attention_dropout":0.0,"aux_loss_alpha":0.001,"ep_size":1,)"
    R"("first_k_dense_replace":3,"hidden_act":"silu","hidden_size":7168,)"
    R"("intermediate_size":18432,"kv_lora_rank":512,)"
    R"("max_position_embeddings":163840,"model_type":"deepseek_v3",)"
    R"("moe_intermediate_size":2048,"moe_layer_freq":1,"n_group":8,)"
    R"("n_routed_experts":256,"n_shared_experts":1,"norm_topk_prob":true,)"
    R"("num_attention_heads":128,"num_experts_per_tok":8,)"
    R"("num_hidden_layers":61,"num_key_value_heads":128,)"
    R"("num_nextn_predict_layers":1,"pretraining_tp":1,"q_lora_rank":1536,)"
    R"("qk_nope_head_dim":128,"qk_rope_head_dim":64,)"
    R"("quantization_config":{"activation_scheme":"dynamic","fmt":"e4m3",)"
    R"("quant_method":"fp8","weight_block_size":[128,128]},)"
    R"("rms_norm_eps":1e-06,"rope_scaling":{"beta_fast":32,"beta_slow":1,)"
    R"("factor":40,"mscale":1.0,"mscale_all_dim":1.0,)"
    R"("original_max_position_embeddings":4096,"type":"yarn"},)"
    R"("rope_theta":10000,"routed_scaling_factor":2.5,)"
    R"("scoring_func":"sigmoid","seq_aux":true,"tie_word_embeddings":false,)"
    R"("topk_group":4,"topk_method":"noaux_tc","v_head_dim":128,)"
    R"("vocab_size":129280})";

}  // namespace

TEST_CASE("deepseek's flavors have the published sizes", "[unit]") {
  // Reference models.md section 18, without the bias, which is a buffer.
  const std::pair<const char*, int64_t> sizes[] = {
      {"debugmodel", 33014016},
      {"16B", 15706484224},
      {"236B", 235741434880},
      {"671B", 671026404352},
  };
  for (const auto& [name, count] : sizes) {
    INFO(name);
    CHECK(Model(plugin().flavor(name)).num_parameters() == count);
  }
}

TEST_CASE("deepseek makes queries of a latent or of one matrix", "[unit]") {
  const Model latent(kTiny);
  CHECK(latent.tree.parameter("layers.1.attention.wq_b.weight").sizes ==
        std::vector<int64_t>{4 * 10, 5});
  CHECK(latent.tree.parameter("layers.1.attention.wkv_a.weight").sizes ==
        std::vector<int64_t>{7 + 4, 8});
  const auto& wkv_b = latent.tree.parameter("layers.1.attention.wkv_b.weight");
  CHECK(wkv_b.sizes == std::vector<int64_t>{4 * 9, 7});
  CHECK(wkv_b.spec.shard == TITAN_SHARD_COLUMN);
  CHECK(wkv_b.spec.shard_granule == 9);
  const Model plain(with(R"({"q_lora_rank":0})", R"("num_layers":3)"));
  CHECK(plain.has("layers.0.attention.wq.weight"));
  CHECK(!plain.has("layers.0.attention.wq_a.weight"));
}

TEST_CASE("deepseek has experts behind its dense blocks", "[unit]") {
  const Model model(kTiny);
  CHECK(model.has("layers.0.feed_forward.w1.weight"));
  CHECK(!model.has("layers.0.moe.router.gate.weight"));
  CHECK(model.has("layers.1.moe.router.gate.weight"));
  CHECK(model.tree.parameter("layers.2.moe.shared_experts.w1.weight").sizes ==
        std::vector<int64_t>{6, 8});
  const auto depth = [](int layer) { return 0.02 / std::sqrt(2.0 * layer); };
  CHECK(model.tree.parameter("layers.2.moe.router.gate.weight").spec.std ==
        Approx(depth(3)));
  CHECK(model.tree.parameter("layers.2.attention.wkv_b.weight").spec.std ==
        0.02);
  model.check_key_rules();
  const auto rules = model.key_rules();
  CHECK(rules.at("layers.{i}.moe.expert_bias_E").hf ==
        "model.layers.{i}.mlp.gate.e_score_correction_bias");
}

TEST_CASE("deepseek counts FLOPs of what a token meets", "[unit]") {
  const Model model(kTiny);
  const double attention = 8 * 5 + 5 + 5 * 40 + 8 * 11 + 7 + 7 * 36 + 12 * 8;
  const double experts = 3 * 8 * 6 * (2 + 1) + 8 * 8;
  const double weights =
      3 * (attention + 2 * 8) + 3 * 8 * 16 + 2 * experts + 8 + 32 * 8;
  CHECK(model.flops_per_token(16) == 6 * weights + 6.0 * 3 * 4 * (10 + 3) * 16);
}

TEST_CASE("deepseek predicts further tokens by blocks behind the last",
          "[unit]") {
  const Model model(with(kTiny, R"("mtp":{"num_layers":2})"));
  CHECK(model.has("mtp_layers.1.moe.router.gate.weight"));
  CHECK(model.tree.parameter("mtp_layers.1.eh_proj.weight").sizes ==
        std::vector<int64_t>{8, 16});
  CHECK(model.tree.ties.size() == 2);
  CHECK(model.tree.items.back() == "mtp_layers() -> [-1, 8]");
  const auto rules = model.key_rules();
  CHECK(rules.at("mtp_layers.0.mtp_norm.weight").hf ==
        "model.layers.3.shared_head.norm.weight");
  CHECK(rules.at("mtp_layers.1.attention.wkv_b.weight").hf ==
        "model.layers.4.self_attn.kv_b_proj.weight");
  CHECK(rules.at("mtp_layers.1.moe.expert_bias_E").hf ==
        "model.layers.4.mlp.gate.e_score_correction_bias");
  CHECK(Json::parse(model.to_hf()).at("num_nextn_predict_layers").i64() == 2);
  // Experts, attention, a projection, three norms, and the head again.
  const double attention = 8 * 5 + 5 + 5 * 40 + 8 * 11 + 7 + 7 * 36 + 12 * 8;
  const double experts = 3 * 8 * 6 * (2 + 1) + 8 * 8;
  const double depth = attention + 2 * 8 + experts + 2 * 8 * 8 + 3 * 8 + 32 * 8;
  CHECK(model.flops_per_token(16) - Model(kTiny).flops_per_token(16) ==
        Approx(2 * (6 * depth + 6.0 * 4 * (10 + 3) * 16)));
}

TEST_CASE("deepseek imports a published config.json as its flavor", "[unit]") {
  const Json config = from_hf(kPublished);
  // A step of transformers moves no bias.
  CHECK(config.at("moe").at("load_balance_coeff").f64() == 0);
  const Model imported(config.dump());
  const Model flavor(plugin().flavor("671B"));
  CHECK(imported.num_parameters() == flavor.num_parameters());
  CHECK(imported.to_hf() == flavor.to_hf());
  CHECK(from_hf(imported.to_hf()) == config);
}

TEST_CASE("deepseek imports V2's config.json as its flavor", "[unit]") {
  const Json config = from_hf(
      R"({"model_type":"deepseek_v2","hidden_size":2048,)"
      R"("num_hidden_layers":27,"num_attention_heads":16,)"
      R"("num_key_value_heads":16,"intermediate_size":10944,)"
      R"("vocab_size":102400,"max_position_embeddings":163840,)"
      R"("first_k_dense_replace":1,"q_lora_rank":null,"kv_lora_rank":512,)"
      R"("moe_intermediate_size":1408,"n_group":1,"n_routed_experts":64,)"
      R"("n_shared_experts":2,"norm_topk_prob":false,"num_experts_per_tok":6,)"
      R"("rms_norm_eps":1e-06,"rope_scaling":{"beta_fast":32,"beta_slow":1,)"
      R"("factor":40,"mscale":0.707,"mscale_all_dim":0.707,)"
      R"("original_max_position_embeddings":4096,"type":"yarn"},)"
      R"("rope_theta":10000,"routed_scaling_factor":1.0,)"
      R"("scoring_func":"softmax","topk_group":1,"topk_method":"greedy"})");
  const Model imported(config.dump());
  Json unbalanced = Json::parse(plugin().flavor("16B"));
  unbalanced["moe"]["load_balance_coeff"] = Json();
  const Model flavor(unbalanced.dump());
  CHECK(imported.to_hf() == flavor.to_hf());
  CHECK(imported.num_parameters() == flavor.num_parameters());
  CHECK(imported.key_rules().count("layers.{i}.moe.expert_bias_E") == 0);
}

TEST_CASE("deepseek refuses keys that do not fit together", "[unit]") {
  const auto refused = [](const std::string& more, const std::string& text) {
    INFO(more);
    CHECK_THROWS_WITH(Model(with(R"({"num_layers":3})", more)),
                      Catch::Contains(text));
  };
  refused(R"("num_dense_layers":4)", "expected at most num_layers 3, got 4");
  refused(R"("qk_rope_head_dim":3)", "expected an even number, got 3");
  refused(R"("moe":{"num_experts":4})",
          "[model.moe.top_k] a token goes to different experts");
  refused(R"("moe":{"num_experts":12})",
          "[model.moe.num_groups] must divide num_experts");
  refused(R"("moe":{"num_limited_groups":9})",
          "[model.moe.num_limited_groups] expected at most num_groups 8");
  refused(R"("moe":{"num_experts":8})",
          "[model.moe.group_top] expected at most the 1 experts");
  refused(R"("moe":{"num_experts":16,"top_k":9})",
          "[model.moe.top_k] expected at most the experts of");
}

TEST_CASE("deepseek refuses what its network does not do", "[unit]") {
  const auto refused = [](const std::string& more, const std::string& text) {
    INFO(more);
    CHECK_THROWS_WITH(from_hf(with(kPublished, more)), Catch::Contains(text));
  };
  refused(R"("output_router_logits":true)", "its balance loss");
  CHECK_THROWS_WITH(
      from_hf(R"({"model_type":"deepseek_v2","hidden_size":8,)"
              R"("num_hidden_layers":1,"num_attention_heads":1,)"
              R"("intermediate_size":8,"vocab_size":8,)"
              R"("num_experts_per_tok":2,"norm_topk_prob":true})"),
      Catch::Contains("[config.json norm_topk_prob]"));
  CHECK_THROWS_WITH(
      Model(with(kTiny, R"("latent_norm_eps":1e-5)")).to_hf(),
      Catch::Contains("[model.latent_norm_eps] Hugging Face's is fixed"));
  // What V2's folders cannot say.
  const std::string softmax =
      R"({"dim":8,"num_layers":2,"num_dense_layers":1,"num_heads":2,)"
      R"("kv_lora_rank":4,"q_lora_rank":0,"qk_nope_head_dim":4,)"
      R"("qk_rope_head_dim":2,"v_head_dim":4,"hidden_dim":16,"vocab_size":32,)"
      R"("moe":{"score":"softmax","normalise":false,"num_groups":1,)"
      R"("num_limited_groups":1,"num_experts":4,"top_k":2,"hidden_dim":4,)"
      R"("load_balance_coeff":null}})";
  const auto unsaid = [&](const std::string& more, const std::string& text) {
    INFO(more);
    CHECK_THROWS_WITH(Model(with(softmax, more)).to_hf(),
                      Catch::Contains(text));
  };
  unsaid(R"("rope":{"interleaved":false})", "[model.rope.interleaved]");
  unsaid(R"("mtp":{"num_layers":1})", "[model.mtp.num_layers]");
}

}  // namespace deepseek_v3_test
