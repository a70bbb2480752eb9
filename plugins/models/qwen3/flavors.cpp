// SPDX-License-Identifier: BSD-3-Clause
// The published sizes; debugmodel is torchtitan's.
#include "plugins/models/qwen3/model.h"

namespace titan::qwen3 {
namespace {

// clang-format off
constexpr Flavor kFlavors[] = {
    {"debugmodel", R"({"dim":256,"num_layers":8,"num_heads":16,"num_kv_heads":8,"hidden_dim":3072,"vocab_size":2048,"max_position":4096,"tie_embeddings":true})"},
    {"0.6B", R"({"dim":1024,"num_layers":28,"num_heads":16,"num_kv_heads":8,"hidden_dim":3072,"tie_embeddings":true})"},
    {"1.7B", R"({"dim":2048,"num_layers":28,"num_heads":16,"num_kv_heads":8,"hidden_dim":6144,"tie_embeddings":true})"},
    {"4B",   R"({"dim":2560,"num_layers":36,"num_heads":32,"num_kv_heads":8,"hidden_dim":9728,"tie_embeddings":true})"},
    {"8B",   R"({"dim":4096,"num_layers":36,"num_heads":32,"num_kv_heads":8,"hidden_dim":12288})"},
    {"14B",  R"({"dim":5120,"num_layers":40,"num_heads":40,"num_kv_heads":8,"hidden_dim":17408})"},
    {"32B",  R"({"dim":5120,"num_layers":64,"num_heads":64,"num_kv_heads":8,"hidden_dim":25600})"},
};
// clang-format on

}  // namespace

std::span<const Flavor> Qwen3::flavors() {
  return kFlavors;
}

}  // namespace titan::qwen3
