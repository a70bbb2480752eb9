// SPDX-License-Identifier: BSD-3-Clause
// Reads the configuration and checks what a schema cannot: how keys fit
// together.
#include "plugins/models/qwen3/config.h"

namespace titan::qwen3 {
namespace {

layers::MoeConfig read_moe(const Config& config, int64_t dim) {
  layers::MoeConfig out = layers::read_moe(config, dim);
  out.router.normalise = config.flag("moe.normalise");
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
      is_sliding_layer(
          layers::read_blocks(config, "sliding_layers", num_layers)),
      moe(read_moe(config, dim)),
      sparse_step(config.i64("moe.sparse_step")),
      is_dense_layer(
          layers::read_blocks(config, "moe.dense_layers", num_layers)) {
  layers::check_scaling_readers(config, kConfigSchema);
}

}  // namespace titan::qwen3
