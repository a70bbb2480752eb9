// SPDX-License-Identifier: BSD-3-Clause
// The published sizes, heads untied as torchtitan trains them; the debug models
// are torchtitan's, and so is balancing by a bias, which Hugging Face's
// implementation does not have.
#include "plugins/models/qwen3_5/model.h"

namespace titan::qwen3_5 {
namespace {

// clang-format off
constexpr Flavor kFlavors[] = {
    {"debugmodel", R"({"dim":256,"num_layers":8,"num_heads":4,"num_kv_heads":2,"head_dim":64,"hidden_dim":512,"max_position":4096,"linear_attention":{"num_key_heads":2,"num_value_heads":4,"key_head_dim":64,"value_head_dim":64}})"},
    {"0.8B", R"({"dim":1024,"num_layers":24,"num_heads":8,"num_kv_heads":2,"hidden_dim":3584,"linear_attention":{"num_value_heads":16}})"},
    {"2B",   R"({"dim":2048,"num_layers":24,"num_heads":8,"num_kv_heads":2,"hidden_dim":6144,"linear_attention":{"num_value_heads":16}})"},
    {"4B",   R"({"dim":2560,"num_layers":32,"num_heads":16,"num_kv_heads":4,"hidden_dim":9216})"},
    {"9B",   R"({"dim":4096,"num_layers":32,"num_heads":16,"num_kv_heads":4,"hidden_dim":12288})"},
    {"27B",  R"({"dim":5120,"num_layers":64,"num_heads":24,"num_kv_heads":4,"hidden_dim":17408,"linear_attention":{"num_value_heads":48}})"},
    {"debugmodel_moe", R"({"dim":256,"num_layers":4,"num_heads":4,"num_kv_heads":2,"head_dim":64,"hidden_dim":512,"max_position":4096,"linear_attention":{"num_key_heads":2,"num_value_heads":4,"key_head_dim":64,"value_head_dim":64},"moe":{"num_experts":8,"top_k":2,"hidden_dim":256,"shared_hidden_dim":256,"load_balance_coeff":1e-3}})"},
    {"35B-A3B",   R"({"dim":2048,"num_layers":40,"num_heads":16,"num_kv_heads":2,"moe":{"num_experts":256,"top_k":8,"hidden_dim":512,"shared_hidden_dim":512,"load_balance_coeff":1e-3}})"},
    {"122B-A10B", R"({"dim":3072,"num_layers":48,"num_heads":32,"num_kv_heads":2,"linear_attention":{"num_value_heads":64},"moe":{"num_experts":256,"top_k":8,"hidden_dim":1024,"shared_hidden_dim":1024,"load_balance_coeff":1e-3}})"},
    {"397B-A17B", R"({"dim":4096,"num_layers":60,"num_heads":32,"num_kv_heads":2,"linear_attention":{"num_value_heads":64},"moe":{"num_experts":512,"top_k":10,"hidden_dim":1024,"shared_hidden_dim":1024,"load_balance_coeff":1e-3}})"},
};
// clang-format on

}  // namespace

std::span<const Flavor> Qwen35::flavors() {
  return kFlavors;
}

}  // namespace titan::qwen3_5
