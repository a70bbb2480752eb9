// SPDX-License-Identifier: BSD-3-Clause
// Reads the options and checks what a schema cannot: how they fit together.
#include "plugins/models/gpt/config.h"

#include <algorithm>
#include <cmath>

#include "plugins/models/gpt/schema.h"

namespace titan::gpt {
namespace {

int64_t i64_or(const Config& config, const char* key, int64_t otherwise) {
  return config.has(key) ? config.i64(key) : otherwise;
}

layers::DecoderConfig read_sizes(const Config& config) {
  const int64_t num_heads = config.i64("num_heads");
  layers::DecoderConfig out{
      .dim = config.i64("dim"),
      .num_layers = config.i64("num_layers"),
      .num_heads = num_heads,
      .num_kv_heads = i64_or(config, "num_kv_heads", num_heads),
      .head_dim = config.i64("latent.kv_dim") > 0
                      ? config.i64("latent.value_dim")
                      : layers::read_head_dim(config),
      .hidden_dim = i64_or(config, "hidden_dim", 4 * config.i64("dim")),
      .vocab_size = config.i64("vocab_size"),
      .norm_eps = config.f64("norm.eps"),
      .tie_embeddings = config.flag("tie_embeddings"),
      .max_position = config.i64("max_position"),
      .attention_bias = config.flag("bias.qkv"),
      .rope = layers::read_rope(config)};
  out.rope.op = config.str("rope.pairs") == "halves" ? "titan.rope_cos_sin/1"
                                                     : "titan.rope_complex/1";
  out.rope.rotary_dim = static_cast<int64_t>(std::floor(
      config.f64("rope.fraction") * static_cast<double>(out.head_dim) + 1e-9));
  return out;
}

layers::NormConfig read_norm(const Config& config) {
  return {.eps = config.f64("norm.eps"),
          .is_layer_norm = config.str("norm.kind") == "layer",
          .has_weight = config.flag("norm.weight"),
          .has_bias = config.flag("norm.bias"),
          .offset = config.flag("norm.unit_offset") ? 1 : 0};
}

NormPlace read_place(const std::string& name) {
  if (name == "pre") return NormPlace::kPre;
  if (name == "post") return NormPlace::kPost;
  return name == "both" ? NormPlace::kBoth : NormPlace::kSum;
}

BlockKind read_block(const std::string& name, NormPlace place) {
  if (name == "sequential") return BlockKind::kSequential;
  TITAN_USER_CHECK(place == NormPlace::kPre,
                   "[model.block] parallel blocks norm what they read: "
                   "expected norm.place pre, got another");
  return name == "parallel" ? BlockKind::kParallel
                            : BlockKind::kParallelOneNorm;
}

Positions read_positions(const std::string& name) {
  if (name == "rope") return Positions::kRope;
  return name == "learned" ? Positions::kLearned : Positions::kNone;
}

double read_attention_scale(const Config& config, int64_t head_dim) {
  if (config.has("attention.scale")) return config.f64("attention.scale");
  return std::pow(
      static_cast<double>(i64_or(config, "attention.scale_dim", head_dim)),
      -0.5);
}

std::optional<double> read_sliding_theta(const Config& config) {
  if (!config.has("rope.sliding_theta")) return std::nullopt;
  return config.f64("rope.sliding_theta");
}

// Where YaRN's factor stands as transformers has it: on cos and sin. Where all
// dims turn the scores carry its square instead, which costs nothing.
layers::RopeConfig on_turned_dims(layers::RopeConfig rope) {
  rope.magnitude = rope.attention_factor;
  rope.attention_factor = 1;
  return rope;
}

std::optional<layers::LatentAttentionConfig> read_latent(
    const Config& config,
    const layers::DecoderConfig& c) {
  const int64_t kv_dim = config.i64("latent.kv_dim");
  layers::LatentAttentionConfig out{
      .dim = c.dim,
      .num_heads = c.num_heads,
      .q_latent_dim = config.i64("latent.q_dim"),
      .kv_latent_dim = kv_dim,
      .plain_dim = config.i64("latent.plain_dim"),
      .turned_dim = config.i64("latent.turned_dim"),
      .value_dim = config.i64("latent.value_dim"),
      .norm_eps = c.norm_eps,
      .has_bias = config.flag("bias.qkv"),
      .rope = on_turned_dims(c.rope)};
  if (kv_dim == 0) return std::nullopt;
  out.rope.rotary_dim = 0;
  out.scale = read_attention_scale(config, out.key_dim());
  TITAN_USER_CHECK(config.flag("bias.qkv") == config.flag("bias.output"),
                   "[model.bias.output] latent attention has all biases or "
                   "none: expected that of bias.qkv, got another");
  TITAN_USER_CHECK(out.turned_dim % 2 == 0,
                   "[model.latent.turned_dim] rotary embedding turns pairs: "
                   "expected an even number, got ",
                   out.turned_dim);
  return out;
}

/// One of each block.
std::vector<int64_t> read_windows(const Config& config, int64_t num_layers) {
  const int64_t window = i64_or(config, "attention.window", 0);
  const Json types = config.json("attention.layer_types");
  const auto slides = [&](int64_t layer) {
    if (types.size() == 0) return true;
    const auto at = static_cast<size_t>(layer) % types.size();
    return types.at(at).str() == "sliding_attention";
  };
  std::vector<int64_t> out;
  for (int64_t layer = 0; layer < num_layers; ++layer) {
    const bool is_sliding = slides(layer);
    TITAN_USER_CHECK(window > 0 || types.size() == 0 || !is_sliding,
                     "[model.attention.window] block ",
                     layer,
                     " slides: expected a number of tokens, got null");
    out.push_back(is_sliding ? window : 0);
  }
  return out;
}

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
                .scale = config.f64("moe.scale"),
                .has_gate_bias = config.flag("moe.gate_bias")};
  out.shared_hidden_dim = config.i64("moe.shared_hidden_dim");
  out.has_shared_gate = config.flag("moe.shared_gate");
  out.balance_loss_coeff = config.f64("moe.balance_loss_coeff");
  if (config.has("moe.load_balance_coeff"))
    out.load_balance_coeff = config.f64("moe.load_balance_coeff");
  if (out.router.num_experts > 0) layers::check_router(out.router);
  return out;
}

std::vector<bool> read_experts(const Config& config, int64_t num_layers) {
  std::vector<bool> out =
      layers::read_blocks(config, "moe.dense_layers", num_layers);
  out.flip();
  if (config.i64("moe.num_experts") == 0) out.assign(out.size(), false);
  return out;
}

void check_rotary_dim(const GptConfig& c) {
  if (c.positions != Positions::kRope || c.latent) return;
  TITAN_USER_CHECK(c.rope.rotary_dim > 0 && c.rope.rotary_dim % 2 == 0,
                   "[model.rope.fraction] rotary embedding turns pairs of "
                   "dims: expected an even number of the ",
                   c.head_dim,
                   " of a head, got ",
                   c.rope.rotary_dim);
}

}  // namespace

GptConfig::GptConfig(const Config& config)
    : DecoderConfig(read_sizes(config)),
      norm(read_norm(config)),
      norm_place(read_place(config.str("norm.place"))),
      has_final_norm(config.flag("norm.final")),
      positions(read_positions(config.str("positions.kind"))),
      position_offset(config.i64("positions.offset")),
      embedding_scale(config.f64("embedding.scale")),
      block(read_block(config.str("block"), norm_place)),
      residual_scale(config.f64("residual_scale")),
      attention_scale(read_attention_scale(config, head_dim)),
      sliding_theta(read_sliding_theta(config)),
      attention_logit_cap(config.f64("attention.logit_cap")),
      has_qk_norm(config.str("attention.qk_norm") != "none"),
      qk_norm_is_over_width(config.str("attention.qk_norm") == "width"),
      windows(read_windows(config, num_layers)),
      latent(read_latent(config, *this)),
      activation(config.str("feed_forward.activation")),
      is_gated(config.flag("feed_forward.gated")),
      has_qkv_bias(config.flag("bias.qkv")),
      has_output_bias(config.flag("bias.output")),
      has_feed_forward_bias(config.flag("bias.feed_forward")),
      has_head_bias(config.flag("bias.head")),
      logit_scale(config.f64("logits.scale")),
      logit_cap(config.f64("logits.cap")),
      moe(read_moe(config, dim)),
      has_experts(read_experts(config, num_layers)),
      init_std(config.f64("init.std")),
      init_depth_std(init_std),
      layout(config.str("hf.layout")),
      json(config.json()) {
  if (config.flag("embedding.times_sqrt_dim"))
    embedding_scale *= std::sqrt(static_cast<double>(dim));
  if (config.flag("init.by_depth"))
    init_depth_std /= std::sqrt(2.0 * static_cast<double>(num_layers));
  if (positions == Positions::kRope && rope.rotary_dim != head_dim)
    rope = on_turned_dims(rope);
  layers::check_readers(json, kConfigSchema, readers_of(*this, config));
  layers::check_heads(*this);
  layers::check_rope_scaling(rope);
  check_rotary_dim(*this);
}

}  // namespace titan::gpt
