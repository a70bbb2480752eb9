// SPDX-License-Identifier: BSD-3-Clause
// Reads the configuration and checks what a schema cannot: how keys fit
// together.
#include "plugins/models/qwen3/config.h"

namespace titan::qwen3 {
namespace {

/// One flag per block; those in the list at `key` are set.
std::vector<bool> read_blocks(const Config& config,
                              const std::string& key,
                              int64_t num_layers) {
  std::vector<bool> out(static_cast<size_t>(num_layers), false);
  for (const int64_t layer : config.ints(key)) {
    TITAN_USER_CHECK(layer < num_layers,
                     "[model.",
                     key,
                     "] blocks are counted from 0: expected less than ",
                     num_layers,
                     ", got ",
                     layer);
    out[static_cast<size_t>(layer)] = true;
  }
  return out;
}

layers::MoeConfig read_moe(const Config& config, int64_t dim) {
  layers::MoeConfig out;
  out.dim = dim;
  out.hidden_dim = config.i64("moe.hidden_dim");
  out.router.num_experts = config.i64("moe.num_experts");
  out.router.top_k = config.i64("moe.top_k");
  out.router.normalise = config.flag("moe.normalise");
  if (config.has("moe.load_balance_coeff"))
    out.load_balance_coeff = config.f64("moe.load_balance_coeff");
  TITAN_USER_CHECK(
      out.router.num_experts == 0 || out.router.top_k <= out.router.num_experts,
      "[model.moe.top_k] a token goes to different experts: "
      "expected at most num_experts ",
      out.router.num_experts,
      ", got ",
      out.router.top_k);
  return out;
}

int64_t read_sliding_window(const Config& config) {
  const bool has_window = config.has("sliding_window");
  TITAN_USER_CHECK(has_window == (config.size("sliding_layers") > 0),
                   "[model.sliding_window] goes together with sliding_layers: "
                   "expected both or none, got only ",
                   has_window ? "the window" : "the layers");
  return has_window ? config.i64("sliding_window") : 0;
}

}  // namespace

Qwen3Config::Qwen3Config(const Config& config)
    : DecoderConfig(layers::read_decoder(config)),
      sliding_window(read_sliding_window(config)),
      is_sliding_layer(read_blocks(config, "sliding_layers", num_layers)),
      moe(read_moe(config, dim)),
      sparse_step(config.i64("moe.sparse_step")),
      is_dense_layer(read_blocks(config, "moe.dense_layers", num_layers)) {}

}  // namespace titan::qwen3
