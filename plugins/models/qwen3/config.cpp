// SPDX-License-Identifier: BSD-3-Clause
// Reads the configuration and checks what a schema cannot: how keys fit
// together.
#include "plugins/models/qwen3/config.h"

namespace titan::qwen3 {
namespace {

std::vector<bool> read_sliding_layers(const Config& config,
                                      int64_t num_layers) {
  std::vector<bool> out(static_cast<size_t>(num_layers), false);
  for (const int64_t layer : config.ints("sliding_layers")) {
    TITAN_USER_CHECK(layer < num_layers,
                     "[model.sliding_layers] blocks are counted from 0: "
                     "expected less than ",
                     num_layers,
                     ", got ",
                     layer);
    out[static_cast<size_t>(layer)] = true;
  }
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
      is_sliding_layer(read_sliding_layers(config, num_layers)) {}

}  // namespace titan::qwen3
