// SPDX-License-Identifier: BSD-3-Clause
// The published sizes: 16B is V2-Lite, 236B is V2, 671B is V3, with the bias
// that torchtitan balances all of them by; the debug model is torchtitan's.
#include "plugins/models/deepseek_v3/model.h"

namespace titan::deepseek_v3 {
namespace {

// clang-format off
constexpr Flavor kFlavors[] = {
    {"debugmodel", R"({"dim":256,"num_layers":6,"num_dense_layers":1,"num_heads":16,"q_lora_rank":0,"hidden_dim":1024,"vocab_size":2048,"max_position":16384,"moe":{"num_experts":8,"top_k":3,"hidden_dim":256,"num_shared_experts":2,"score":"softmax","num_groups":1,"num_limited_groups":1,"group_top":1,"normalise":false,"scale":1},"rope":{"scaling":{"type":"yarn","mscale":0.7,"mscale_all_dim":0.7}}})"},
    {"16B",  R"({"dim":2048,"num_layers":27,"num_dense_layers":1,"num_heads":16,"q_lora_rank":0,"hidden_dim":10944,"vocab_size":102400,"moe":{"num_experts":64,"top_k":6,"hidden_dim":1408,"num_shared_experts":2,"score":"softmax","num_groups":1,"num_limited_groups":1,"group_top":1,"normalise":false,"scale":1},"rope":{"scaling":{"type":"yarn","mscale":0.707,"mscale_all_dim":0.707}}})"},
    {"236B", R"({"dim":5120,"num_layers":60,"num_dense_layers":1,"hidden_dim":12288,"vocab_size":102400,"moe":{"num_experts":160,"top_k":6,"hidden_dim":1536,"num_shared_experts":2,"score":"softmax","num_limited_groups":3,"group_top":1,"normalise":false,"scale":16},"rope":{"scaling":{"type":"yarn","mscale":0.707,"mscale_all_dim":0.707}}})"},
    {"671B", R"({"rope":{"scaling":{"type":"yarn"}}})"},
};
// clang-format on

}  // namespace

std::span<const Flavor> DeepseekV3::flavors() {
  return kFlavors;
}

}  // namespace titan::deepseek_v3
