// SPDX-License-Identifier: BSD-3-Clause
// Hugging Face's DeepseekV3ForCausalLM and DeepseekV2ForCausalLM: config.json
// both ways, and key rules. Both sides turn neighbouring dims, so nothing is
// permuted.
#include "plugins/models/deepseek_v3/model.h"
#include "plugins/models/layers/decoder_keys.hpp"

namespace titan::deepseek_v3 {
namespace {

bool is_v2(const Json& hf) {
  return hf.str_or("model_type", "deepseek_v3") == "deepseek_v2";
}

/// Which experts V3 chooses: by sigmoid scores and a bias, which a step of
/// transformers does not move.
void add_v3_routing(const Json& hf, Json& out) {
  const std::string score = hf.str_or("scoring_func", "sigmoid");
  TITAN_USER_CHECK(score == "sigmoid",
                   "[config.json scoring_func] expected sigmoid, got ",
                   score);
  out["score"] = score;
  out["num_groups"] = hf.i64_or("n_group", 8);
  out["num_limited_groups"] = hf.i64_or("topk_group", 4);
  out["group_top"] = 2;
  out["normalise"] = hf.flag_or("norm_topk_prob", true);
  out["scale"] = hf.f64_or("routed_scaling_factor", 2.5);
  out["load_balance_coeff"] = 0.0;
}

/// And V2: by softmax scores, groups by their best expert.
void add_v2_routing(const Json& hf, Json& out) {
  const std::string method = hf.str_or("topk_method", "greedy");
  TITAN_USER_CHECK(method == "greedy" || method == "group_limited_greedy",
                   "[config.json topk_method] expected greedy or "
                   "group_limited_greedy, got ",
                   method);
  TITAN_USER_CHECK(!hf.flag_or("norm_topk_prob", false),
                   "[config.json norm_topk_prob] transformers does not "
                   "normalise: expected false, got true");
  const bool has_groups = method == "group_limited_greedy";
  out["score"] = "softmax";
  out["num_groups"] = has_groups ? hf.at("n_group").i64() : 1;
  out["num_limited_groups"] = has_groups ? hf.at("topk_group").i64() : 1;
  out["group_top"] = 1;
  out["normalise"] = false;
  out["scale"] = hf.f64_or("routed_scaling_factor", 1);
  out["load_balance_coeff"] = Json();
}

Json moe_from_hf(const Json& hf) {
  TITAN_USER_CHECK(!hf.flag_or("output_router_logits", false),
                   "[config.json output_router_logits] its balance loss is not "
                   "supported: expected false, got true");
  const int64_t every = hf.i64_or("moe_layer_freq", 1);
  TITAN_USER_CHECK(every == 1,
                   "[config.json moe_layer_freq] all blocks after the dense "
                   "ones have experts: expected 1, got ",
                   every);
  Json out = Json::object();
  out["num_experts"] = hf.i64_or(
      "n_routed_experts", hf.i64_or("num_local_experts", is_v2(hf) ? 64 : 256));
  out["top_k"] = is_v2(hf) ? hf.at("num_experts_per_tok").i64()
                           : hf.i64_or("num_experts_per_tok", 8);
  out["hidden_dim"] =
      hf.i64_or("moe_intermediate_size", is_v2(hf) ? 1407 : 2048);
  // Null is said by those that have none.
  out["num_shared_experts"] = hf.find("n_shared_experts") != nullptr
                                  ? hf.i64_or("n_shared_experts", 0)
                                  : (is_v2(hf) ? 2 : 1);
  if (is_v2(hf))
    add_v2_routing(hf, out);
  else
    add_v3_routing(hf, out);
  return out;
}

/// YaRN's factors of q and k are mscale's here, unless they are given; as
/// transformers computes them.
void add_mscale_from_hf(const Json& hf, Json& rope) {
  const Json* scaling = rope.find("scaling");
  if (scaling == nullptr) return;
  const Json* in = hf.find("rope_parameters");
  if (in == nullptr || in->is_null()) in = hf.find("rope_scaling");
  const double mscale = in->f64_or("mscale", 0);
  const double all_dim = in->f64_or("mscale_all_dim", 0);
  const bool has_yarn = scaling->at("type").str() == "yarn";
  TITAN_USER_CHECK(has_yarn || all_dim == 0,
                   "[config.json rope_parameters.mscale_all_dim] is YaRN's: "
                   "expected none, got ",
                   all_dim);
  if (!has_yarn) return;
  const double factor = scaling->at("factor").f64();
  Json& out = rope["scaling"];
  out["mscale"] = all_dim == 0 ? 1 : mscale;
  out["mscale_all_dim"] = all_dim;
  if (in->has("attention_factor")) return;
  out["attention_factor"] = all_dim != 0 && mscale == 0
                                ? Json(layers::yarn_magnitude(factor))
                                : Json();
}

void add_rope_to_hf(const DeepseekConfig& c, Json& out) {
  if (c.rope.scaling != "yarn") return;
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    Json& rope = out[key];
    rope["mscale"] = c.mscale;
    rope["mscale_all_dim"] = c.mscale_all_dim;
    if (!c.has_attention_factor) rope["attention_factor"] = Json();
  }
}

void check_exportable(const DeepseekConfig& c) {
  const layers::RouterConfig& router = c.moe.router;
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
  if (c.moe.load_balance_coeff && c.is_v3())
    keys.identity(block.native + "moe.expert_bias_E",
                  mlp + "gate.e_score_correction_bias");
  else
    keys.ignore(mlp + "gate.e_score_correction_bias");
}

}  // namespace

// Defaults are those of transformers' DeepseekV3Config and DeepseekV2Config.
Json DeepseekV3::config_from_hf(const Json& hf) {
  Json out = layers::decoder_without_heads_from_hf(hf, is_v2(hf) ? 2048 : 4096);
  out["num_dense_layers"] =
      hf.i64_or("first_k_dense_replace", is_v2(hf) ? 0 : 3);
  // Null is said by those that have none.
  out["q_lora_rank"] =
      hf.i64_or("q_lora_rank", hf.find("q_lora_rank") != nullptr ? 0 : 1536);
  out["kv_lora_rank"] = hf.i64_or("kv_lora_rank", 512);
  out["qk_nope_head_dim"] = hf.i64_or("qk_nope_head_dim", 128);
  out["qk_rope_head_dim"] = hf.i64_or("qk_rope_head_dim", 64);
  out["v_head_dim"] = hf.i64_or("v_head_dim", 128);
  out["moe"] = moe_from_hf(hf);
  Json& rope = out["rope"];
  rope["interleaved"] = is_v2(hf) || hf.flag_or("rope_interleave", true);
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
