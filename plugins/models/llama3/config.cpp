// SPDX-License-Identifier: BSD-3-Clause
// Reads the configuration and checks what a schema cannot: how keys fit
// together.
#include "plugins/models/llama3/config.h"

namespace titan::llama3 {

LlamaConfig::LlamaConfig(const Config& config)
    : DecoderConfig(layers::read_decoder(config)),
      mlp_bias(config.flag("mlp_bias")) {
  layers::check_scaling_readers(config, kConfigSchema);
}

}  // namespace titan::llama3
