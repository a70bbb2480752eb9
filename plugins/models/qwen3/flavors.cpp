// SPDX-License-Identifier: BSD-3-Clause
// The published sizes; the debug models are torchtitan's, and so is balancing
// by a bias, which Hugging Face's implementation does not have.
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
    {"debugmodel_moe", R"({"dim":256,"num_layers":8,"num_heads":16,"num_kv_heads":8,"hidden_dim":3072,"vocab_size":2048,"max_position":4096,"moe":{"num_experts":64,"hidden_dim":768,"load_balance_coeff":1e-3}})"},
    {"30B-A3B",   R"({"dim":2048,"num_layers":48,"num_heads":32,"num_kv_heads":4,"hidden_dim":6144,"moe":{"num_experts":128,"hidden_dim":768,"load_balance_coeff":1e-3}})"},
    {"235B-A22B", R"({"dim":4096,"num_layers":94,"num_heads":64,"num_kv_heads":4,"hidden_dim":12288,"rope":{"theta":5000000},"moe":{"num_experts":128,"hidden_dim":1536,"load_balance_coeff":1e-3}})"},
};
// clang-format on

}  // namespace

std::span<const Flavor> Qwen3::flavors() {
  return kFlavors;
}

}  // namespace titan::qwen3
