// SPDX-License-Identifier: BSD-3-Clause
// The published sizes. Rope factor 8 everywhere, as torchtitan trains them;
// Hugging Face's 1B and 3B ship 32, which an import takes from config.json.
#include "plugins/models/llama3/model.h"

namespace titan::llama3 {
namespace {

// clang-format off
constexpr Flavor kFlavors[] = {
    {"debugmodel", R"({"dim":256,"num_layers":6,"num_heads":16,"num_kv_heads":16,"hidden_dim":768,"vocab_size":2048,"rope":{"scaling":{"type":"llama"}}})"},
    {"1B",   R"({"dim":2048,"num_layers":16,"num_heads":32,"num_kv_heads":8,"hidden_dim":8192,"tie_embeddings":true,"rope":{"scaling":{"type":"llama"}}})"},
    {"3B",   R"({"dim":3072,"num_layers":28,"num_heads":24,"num_kv_heads":8,"hidden_dim":8192,"tie_embeddings":true,"rope":{"scaling":{"type":"llama"}}})"},
    {"8B",   R"({"dim":4096,"num_layers":32,"num_heads":32,"num_kv_heads":8,"hidden_dim":14336,"rope":{"scaling":{"type":"llama"}}})"},
    {"70B",  R"({"dim":8192,"num_layers":80,"num_heads":64,"num_kv_heads":8,"hidden_dim":28672,"rope":{"scaling":{"type":"llama"}}})"},
    {"405B", R"({"dim":16384,"num_layers":126,"num_heads":128,"num_kv_heads":8,"hidden_dim":53248,"rope":{"scaling":{"type":"llama"}}})"},
};
// clang-format on

}  // namespace

std::span<const Flavor> Llama3::flavors() {
  return kFlavors;
}

}  // namespace titan::llama3
