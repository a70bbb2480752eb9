// SPDX-License-Identifier: BSD-3-Clause
// Reads the configuration and checks what a schema cannot: how keys fit
// together.
#include "plugins/models/deepseek_v3/config.h"

#include <cmath>

namespace titan::deepseek_v3 {
namespace {

layers::MoeConfig read_moe(const Config& config, int64_t dim) {
  layers::MoeConfig out;
  out.dim = dim;
  out.hidden_dim = config.i64("moe.hidden_dim");
  out.router = {.num_experts = config.i64("moe.num_experts"),
                .top_k = config.i64("moe.top_k"),
                .score = config.str("moe.score"),
                .num_groups = config.i64("moe.num_groups"),
                .num_limited_groups = config.i64("moe.num_limited_groups"),
                .group_top = config.i64("moe.group_top"),
                .normalise = config.flag("moe.normalise"),
                .scale = config.f64("moe.scale")};
  if (out.router.num_groups == 1) out.router.num_limited_groups = 1;
  out.shared_hidden_dim = config.i64("moe.num_shared_experts") * out.hidden_dim;
  if (config.has("moe.load_balance_coeff"))
    out.load_balance_coeff = config.f64("moe.load_balance_coeff");
  else if (out.router.score == "sigmoid")
    out.load_balance_coeff = 0;
  out.balance_loss_coeff = config.f64("moe.balance_loss_coeff");
  return out;
}

}  // namespace

DeepseekConfig::DeepseekConfig(const Config& config)
    : DecoderConfig(layers::read_decoder_without_heads(config)),
      num_dense_layers(config.i64("num_dense_layers")),
      mscale(config.f64("rope.scaling.mscale")),
      mscale_all_dim(config.f64("rope.scaling.mscale_all_dim")),
      has_attention_factor(config.has("rope.scaling.attention_factor")),
      moe(read_moe(config, dim)),
      num_shared_experts(config.i64("moe.num_shared_experts")),
      num_mtp_layers(config.i64("mtp.num_layers")),
      mtp_loss_coeff(config.f64("mtp.loss_coeff")) {
  const bool has_yarn = rope.scaling == "yarn";
  const double scores_factor =
      has_yarn ? layers::yarn_magnitude(rope.factor, mscale_all_dim) : 1;
  if (!config.flag("rope.interleaved")) rope.op = "titan.rope_cos_sin/1";
  if (has_yarn && !has_attention_factor)
    rope.attention_factor =
        layers::yarn_magnitude(rope.factor, mscale) / scores_factor;
  if (has_yarn) rope.magnitude = rope.attention_factor;

  attention = {.dim = dim,
               .num_heads = num_heads,
               .q_latent_dim = config.i64("q_lora_rank"),
               .kv_latent_dim = config.i64("kv_lora_rank"),
               .plain_dim = config.i64("qk_nope_head_dim"),
               .turned_dim = config.i64("qk_rope_head_dim"),
               .value_dim = config.i64("v_head_dim"),
               .norm_eps = config.f64("latent_norm_eps"),
               .has_bias = attention_bias,
               .rope = rope};
  attention.scale = scores_factor * scores_factor /
                    std::sqrt(static_cast<double>(attention.key_dim()));
  // What exports say; nothing here computes with them.
  num_kv_heads = num_heads;
  head_dim = attention.turned_dim;

  layers::check_scaling_readers(config, kConfigSchema);
  layers::check_rope_scaling(rope);
  layers::check_router(moe.router);
  TITAN_USER_CHECK(attention.turned_dim % 2 == 0,
                   "[model.qk_rope_head_dim] rotary embedding turns pairs: "
                   "expected an even number, got ",
                   attention.turned_dim);
  TITAN_USER_CHECK(num_dense_layers <= num_layers,
                   "[model.num_dense_layers] expected at most num_layers ",
                   num_layers,
                   ", got ",
                   num_dense_layers);
}

}  // namespace titan::deepseek_v3
