// SPDX-License-Identifier: BSD-3-Clause
// Hugging Face's DeepseekV3ForCausalLM and DeepseekV2ForCausalLM: config.json
// both ways, and key rules. Both sides turn neighbouring dims, so nothing is
// permuted.
#include "plugins/models/deepseek_v3/model.h"
#include "plugins/models/layers/decoder_hf.hpp"
#include "plugins/models/layers/decoder_keys.hpp"
#include "plugins/models/layers/moe_hf.hpp"

namespace titan::deepseek_v3 {
namespace {

using layers::HfConfig;
using layers::HfDefaults;

bool is_v2(const HfConfig& hf) {
  return hf.str("model_type", "deepseek_v3") == "deepseek_v2";
}

HfDefaults defaults_of(bool is_v2) {
  if (is_v2)
    return {.dim = 4096,
            .hidden_dim = 11008,
            .num_layers = 32,
            .num_heads = 32,
            .num_kv_heads = 0,
            .vocab_size = 102400,
            .max_position = 2048};
  return {.dim = 7168,
          .hidden_dim = 18432,
          .num_layers = 61,
          .num_heads = 128,
          .num_kv_heads = 0,
          .vocab_size = 129280,
          .max_position = 4096};
}

/// Refuses what neither network has: other ways to choose experts (V2's is read
/// by add_v2_routing), blocks without experts between others, fewer keys than
/// queries, biases.
void check_hf(const HfConfig& hf) {
  hf.require(
      "output_router_logits", false, "its balance loss is not supported");
  hf.require(
      "moe_layer_freq", 1, "all blocks after the dense ones have experts");
  if (!hf.is_null("num_key_value_heads"))
    hf.require("num_key_value_heads",
               hf.i64("num_attention_heads", defaults_of(is_v2(hf)).num_heads),
               "every head has keys of its own");
  if (hf.has("q_lora_rank") && hf.i64("q_lora_rank", 0) < 1)
    hf.refuse("q_lora_rank", "are dims of a latent", "null or 1 and more");
  if (is_v2(hf)) {
    hf.require("scoring_func", "softmax", "is another router");
    hf.require("mlp_bias", false, "feed-forwards have no bias");
    // transformers takes no notice of it, DeepSeek's own code does.
    if (hf.has("norm_topk_prob"))
      hf.require("norm_topk_prob", false, "transformers does not normalise");
    return;
  }
  hf.require("scoring_func", "sigmoid", "is another router");
  hf.require("topk_method", "noaux_tc", "is another router");
}

/// Which experts V3 chooses: by sigmoid scores and a bias, which a step of
/// transformers does not move.
void add_v3_routing(const HfConfig& hf, Json& out) {
  out["score"] = "sigmoid";
  out["num_groups"] = hf.i64("n_group", 8);
  out["num_limited_groups"] = hf.i64("topk_group", 4);
  out["group_top"] = 2;
  out["normalise"] = hf.flag("norm_topk_prob", true, false);
  out["scale"] = hf.f64("routed_scaling_factor", 2.5);
  out["load_balance_coeff"] = 0.0;
}

/// And V2: by softmax scores, groups by their best expert.
void add_v2_routing(const HfConfig& hf, Json& out) {
  const std::string method = hf.str("topk_method", "greedy");
  const bool has_groups = method == "group_limited_greedy";
  if (method != "greedy" && !has_groups)
    hf.refuse(
        "topk_method", "is another router", "greedy or group_limited_greedy");
  const auto groups = [&](const char* key) {
    if (!hf.has(key)) hf.refuse(key, "is of topk_method", "a number");
    return hf.i64(key, 0);
  };
  out["score"] = "softmax";
  out["num_groups"] = has_groups ? groups("n_group") : 1;
  out["num_limited_groups"] = has_groups ? groups("topk_group") : 1;
  out["group_top"] = 1;
  out["normalise"] = false;
  out["scale"] = hf.f64("routed_scaling_factor", 1);
  out["load_balance_coeff"] = Json();
}

Json moe_from_hf(const HfConfig& hf) {
  const bool v2 = is_v2(hf);
  const char* const other = v2 ? "num_experts" : "num_local_experts";
  Json out = Json::object();
  out["num_experts"] = hf.i64_named("n_routed_experts", other, v2 ? 64 : 256);
  if (v2 && !hf.has("num_experts_per_tok"))
    hf.refuse("num_experts_per_tok", "has no default", "a number");
  out["top_k"] = hf.i64("num_experts_per_tok", 8);
  out["hidden_dim"] = hf.i64("moe_intermediate_size", v2 ? 1407 : 2048);
  // Null is said by those that have none.
  out["num_shared_experts"] = hf.i64("n_shared_experts", v2 ? 2 : 1, 0);
  if (v2)
    add_v2_routing(hf, out);
  else
    add_v3_routing(hf, out);
  const int64_t num_groups = out.at("num_groups").i64();
  if (out.at("num_limited_groups").i64() > num_groups)
    hf.refuse(
        "topk_group", "are some of n_group", text("at most ", num_groups));
  return out;
}

/// YaRN's factors of q and k are mscale's here, unless they are given. 0 says
/// as little as none, as transformers takes it: the other one then does not
/// move q and k.
void add_mscale_from_hf(const HfConfig& hf, Json& rope) {
  const Json* const scaling = rope.find("scaling");
  if (scaling == nullptr) return;
  const HfConfig in = layers::rope_values(hf);
  const double mscale = in.f64("mscale", 0, 0);
  const double all_dim = in.f64("mscale_all_dim", 0, 0);
  const bool has_yarn = scaling->at("type").str() == "yarn";
  if (!has_yarn && all_dim != 0)
    in.refuse("mscale_all_dim", "is YaRN's", "none");
  if (!has_yarn) return;
  Json& out = rope["scaling"];
  const bool has_both = mscale != 0 && all_dim != 0;
  out["mscale"] = has_both ? mscale : 1;
  out["mscale_all_dim"] = all_dim;
  if (in.has("attention_factor")) return;
  out["attention_factor"] =
      has_both || all_dim == 0
          ? Json()
          : Json(layers::yarn_magnitude(out.at("factor").f64()));
}

void add_rope_to_hf(const DeepseekConfig& c, Json& out) {
  if (c.rope.scaling != "yarn") return;
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    Json& rope = out[key];
    rope["mscale"] = c.mscale;
    rope["mscale_all_dim"] = c.mscale_all_dim;
    // transformers takes 0 as no word on q and k.
    const bool has_both = c.mscale != 0 && c.mscale_all_dim != 0;
    if (!c.has_attention_factor && has_both) rope["attention_factor"] = Json();
  }
}

void check_exportable(const DeepseekConfig& c) {
  const layers::RouterConfig& router = c.moe.router;
  if (!c.is_v3()) layers::check_no_expert_bias(c.moe, "deepseek_v2");
  if (!c.is_v3()) layers::check_heads_divide_dim(c, "deepseek_v2");
  const int64_t group_top = c.is_v3() ? 2 : 1;
  TITAN_USER_CHECK(router.num_groups == 1 || router.group_top == group_top,
                   "[model.moe.group_top] with scores of ",
                   router.score,
                   " Hugging Face's groups are worth their best experts: "
                   "expected ",
                   group_top,
                   ", got ",
                   router.group_top);
  TITAN_USER_CHECK(c.is_v3() || !router.normalise,
                   "[model.moe.normalise] with softmax Hugging Face's weights "
                   "are not normalised: expected false, got true");
  TITAN_USER_CHECK(c.is_v3() || c.rope.op != "titan.rope_cos_sin/1",
                   "[model.rope.interleaved] with softmax Hugging Face's model "
                   "turns neighbours: expected true, got false");
  TITAN_USER_CHECK(c.is_v3() || c.num_mtp_layers == 0,
                   "[model.mtp.num_layers] with softmax Hugging Face's folders "
                   "have no such blocks: expected 0, got ",
                   c.num_mtp_layers);
  TITAN_USER_CHECK(c.latent_norm_eps() == 1e-6,
                   "[model.latent_norm_eps] Hugging Face's is fixed: expected "
                   "1e-6, got ",
                   c.latent_norm_eps());
}

void add_moe_to_hf(const DeepseekConfig& c, Json& out) {
  const layers::RouterConfig& router = c.moe.router;
  const bool has_groups = c.is_v3() || router.num_groups > 1;
  out["first_k_dense_replace"] = c.num_dense_layers;
  out["moe_layer_freq"] = 1;
  out["n_routed_experts"] = router.num_experts;
  out["num_experts_per_tok"] = router.top_k;
  out["moe_intermediate_size"] = c.moe.hidden_dim;
  out["n_shared_experts"] = c.num_shared_experts;
  out["scoring_func"] = router.score;
  out["topk_method"] = c.is_v3()    ? "noaux_tc"
                       : has_groups ? "group_limited_greedy"
                                    : "greedy";
  out["n_group"] = has_groups ? Json(router.num_groups) : Json();
  out["topk_group"] = has_groups ? Json(router.num_limited_groups) : Json();
  out["norm_topk_prob"] = router.normalise;
  out["routed_scaling_factor"] = router.scale;
  out["output_router_logits"] = false;
}

void block_keys(Keys& keys,
                const DeepseekConfig& c,
                const layers::BlockNames& block,
                bool has_dense,
                bool has_experts) {
  layers::latent_attention_keys(
      keys, c.attention.q_latent_dim > 0, c.attention_bias, block);
  if (has_dense) layers::feed_forward_keys(keys, false, block);
  if (!has_experts) return;
  layers::moe_keys(keys, block);
  const std::string mlp = block.hf + "mlp.";
  if (c.num_shared_experts > 0)
    layers::feed_forward_keys(keys,
                              false,
                              block.native + "moe.shared_experts.",
                              mlp + "shared_experts.");
  if (c.is_v3())
    keys.identity(block.native + "moe.expert_bias_E",
                  mlp + "gate.e_score_correction_bias");
}

}  // namespace

// Defaults are those of transformers' DeepseekV3Config and DeepseekV2Config.
Json DeepseekV3::config_from_hf(const Json& json) {
  const HfConfig hf(json);
  check_hf(hf);
  layers::check_whole_heads_turn(hf);
  Json out = layers::decoder_without_heads_from_hf(hf, defaults_of(is_v2(hf)));
  out["num_dense_layers"] = hf.i64("first_k_dense_replace", is_v2(hf) ? 0 : 3);
  // Null is said by those that have none.
  out["q_lora_rank"] = hf.i64("q_lora_rank", 1536, 0);
  out["kv_lora_rank"] = hf.i64("kv_lora_rank", 512);
  out["qk_nope_head_dim"] = hf.i64("qk_nope_head_dim", 128);
  out["qk_rope_head_dim"] = hf.i64("qk_rope_head_dim", 64);
  out["v_head_dim"] = hf.i64("v_head_dim", 128);
  out["moe"] = moe_from_hf(hf);
  Json& rope = out["rope"];
  rope["interleaved"] =
      is_v2(hf) || hf.flag("rope_interleave", true, /*null=*/false);
  add_mscale_from_hf(hf, rope);
  return out;
}

Json DeepseekV3::config_to_hf() const {
  const DeepseekConfig& c = config_;
  check_exportable(c);
  Json out = layers::decoder_to_hf(
      c,
      c.is_v3() ? "DeepseekV3ForCausalLM" : "DeepseekV2ForCausalLM",
      c.is_v3() ? "deepseek_v3" : "deepseek_v2");
  const int64_t q_latent = c.attention.q_latent_dim;
  out["q_lora_rank"] = q_latent == 0 ? Json() : Json(q_latent);
  out["kv_lora_rank"] = c.attention.kv_latent_dim;
  out["qk_nope_head_dim"] = c.attention.plain_dim;
  out["qk_rope_head_dim"] = c.attention.turned_dim;
  out["v_head_dim"] = c.attention.value_dim;
  out["rope_interleave"] = c.rope.op == "titan.rope_complex/1";
  out["num_nextn_predict_layers"] = c.num_mtp_layers;
  add_rope_to_hf(c, out);
  add_moe_to_hf(c, out);
  return out;
}

void DeepseekV3::describe_keys(Keys& keys) const {
  const DeepseekConfig& c = config_;
  layers::decoder_keys(keys, c.tie_embeddings);
  block_keys(
      keys, c, {}, c.num_dense_layers > 0, c.is_sparse(c.num_layers - 1));
  for (int64_t depth = 0; depth < c.num_mtp_layers; ++depth) {
    const layers::BlockNames names = {
        text("mtp_layers.", depth, '.'),
        text("model.layers.", c.num_layers + depth, '.')};
    const bool is_sparse = c.is_sparse(c.num_layers - 1);
    layers::block_norm_keys(keys, names);
    layers::multi_token_keys(keys, names);
    block_keys(keys, c, names, !is_sparse, is_sparse);
  }
  // Published checkpoints have one, as the block after the last.
  if (c.num_mtp_layers == 0)
    keys.ignore(text("model.layers.", c.num_layers, ".*"));
}

}  // namespace titan::deepseek_v3
