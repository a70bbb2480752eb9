// SPDX-License-Identifier: BSD-3-Clause
// Reads the configuration and checks what a schema cannot: how keys fit
// together.
#include "plugins/models/qwen3_5/config.h"

#include <cmath>

namespace titan::qwen3_5 {
namespace {

layers::DecoderConfig read_common(const Config& config) {
  layers::DecoderConfig out = layers::read_decoder(config);
  out.norm_offset = 1;
  out.rope.op = "titan.rope_cos_sin/1";
  out.rope.rotary_dim = static_cast<int64_t>(static_cast<double>(out.head_dim) *
                                             config.f64("rope.partial_factor"));
  TITAN_USER_CHECK(out.rope.rotary_dim % 2 == 0 && out.rope.rotary_dim > 0,
                   "[model.rope.partial_factor] rotary embedding turns pairs: "
                   "expected an even part of head_dim ",
                   out.head_dim,
                   ", got ",
                   out.rope.rotary_dim);
  return out;
}

std::vector<bool> read_full_attention(const Config& config,
                                      int64_t num_layers) {
  if (!config.has("full_attention_layers")) return every_fourth(num_layers);
  return layers::read_blocks(config, "full_attention_layers", num_layers);
}

layers::GatedDeltaNetConfig read_linear(const Config& config) {
  const layers::GatedDeltaNetConfig out{
      .dim = config.i64("dim"),
      .num_key_heads = config.i64("linear_attention.num_key_heads"),
      .num_value_heads = config.i64("linear_attention.num_value_heads"),
      .key_head_dim = config.i64("linear_attention.key_head_dim"),
      .value_head_dim = config.i64("linear_attention.value_head_dim"),
      .conv_taps = config.i64("linear_attention.conv_taps"),
      .norm_eps = config.f64("norm_eps")};
  TITAN_USER_CHECK(out.num_value_heads % out.num_key_heads == 0,
                   "[model.linear_attention.num_key_heads] must divide "
                   "num_value_heads: expected a divisor of ",
                   out.num_value_heads,
                   ", got ",
                   out.num_key_heads);
  return out;
}

layers::MoeConfig read_moe(const Config& config, int64_t dim) {
  layers::MoeConfig out = layers::read_moe(config, dim);
  out.router.normalise = true;
  out.shared_hidden_dim = config.i64("moe.shared_hidden_dim");
  out.has_shared_gate = true;
  return out;
}

}  // namespace

std::vector<bool> every_fourth(int64_t num_layers) {
  std::vector<bool> out(static_cast<size_t>(num_layers), false);
  for (size_t layer = 3; layer < out.size(); layer += 4) out[layer] = true;
  return out;
}

Qwen35Config::Qwen35Config(const Config& config)
    : DecoderConfig(read_common(config)),
      full_attention(read_full_attention(config, num_layers)),
      linear(read_linear(config)),
      moe(read_moe(config, dim)) {
  layers::check_scaling_readers(config, kConfigSchema);
}

}  // namespace titan::qwen3_5
