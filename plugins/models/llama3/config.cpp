// SPDX-License-Identifier: BSD-3-Clause
// Reads the configuration and checks what a schema cannot: how keys fit
// together.
#include "plugins/models/llama3/config.h"

namespace titan::llama3 {
namespace {

void check(const LlamaConfig& c) {
  TITAN_USER_CHECK(c.num_heads % c.num_kv_heads == 0,
                   "[model.num_kv_heads] must divide num_heads: expected a "
                   "divisor of ",
                   c.num_heads,
                   ", got ",
                   c.num_kv_heads);
  TITAN_USER_CHECK(c.head_dim % 2 == 0,
                   "[model.head_dim] rotary embedding turns pairs: expected an "
                   "even number, got ",
                   c.head_dim);
  TITAN_USER_CHECK(
      c.rope.scaling != "llama" ||
          c.rope.high_freq_factor > c.rope.low_freq_factor,
      "[model.rope.scaling.high_freq_factor] must exceed low_freq_factor: "
      "expected more than ",
      c.rope.low_freq_factor,
      ", got ",
      c.rope.high_freq_factor);
}

int64_t read_head_dim(const Config& config) {
  if (config.has("head_dim")) return config.i64("head_dim");
  const int64_t dim = config.i64("dim");
  const int64_t num_heads = config.i64("num_heads");
  TITAN_USER_CHECK(dim % num_heads == 0,
                   "[model.num_heads] must divide dim when head_dim is not "
                   "given: expected a divisor of ",
                   dim,
                   ", got ",
                   num_heads);
  return dim / num_heads;
}

}  // namespace

LlamaConfig::LlamaConfig(const Config& config)
    : dim(config.i64("dim")),
      num_layers(config.i64("num_layers")),
      num_heads(config.i64("num_heads")),
      num_kv_heads(config.i64("num_kv_heads")),
      head_dim(read_head_dim(config)),
      hidden_dim(config.i64("hidden_dim")),
      vocab_size(config.i64("vocab_size")),
      norm_eps(config.f64("norm_eps")),
      tie_embeddings(config.flag("tie_embeddings")),
      max_position(config.i64("max_position")),
      attention_bias(config.flag("attention_bias")),
      mlp_bias(config.flag("mlp_bias")),
      rope(layers::read_rope(config)) {
  check(*this);
}

int64_t LlamaConfig::num_parameters() const {
  const int64_t query_dim = num_heads * head_dim;
  const int64_t kv_dim = num_kv_heads * head_dim;
  int64_t block = 2 * dim * (query_dim + kv_dim) + 3 * dim * hidden_dim;
  block += 2 * dim;  // norms
  if (attention_bias) block += query_dim + 2 * kv_dim + dim;
  if (mlp_bias) block += 2 * hidden_dim + dim;
  const int64_t tables = tie_embeddings ? 1 : 2;
  return num_layers * block + dim + tables * vocab_size * dim;
}

}  // namespace titan::llama3
