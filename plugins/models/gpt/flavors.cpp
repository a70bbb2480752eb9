// SPDX-License-Identifier: BSD-3-Clause
// A debug model of the defaults, and GPT-2 (Radford et al. 2019) in its four
// sizes.
#include "plugins/models/gpt/model.h"

namespace titan::gpt {
namespace {

// clang-format off
constexpr std::string_view kSmall  = R"({"dim":768,"num_layers":12,"num_heads":12,)";
constexpr std::string_view kMedium = R"({"dim":1024,"num_layers":24,"num_heads":16,)";
constexpr std::string_view kLarge  = R"({"dim":1280,"num_layers":36,"num_heads":20,)";
constexpr std::string_view kXl     = R"({"dim":1600,"num_layers":48,"num_heads":25,)";
constexpr std::string_view kGpt2   = R"("tie_embeddings":true,"norm":{"kind":"layer","bias":true},"positions":{"kind":"learned"},"feed_forward":{"activation":"gelu_tanh","gated":false},"bias":{"qkv":true,"output":true,"feed_forward":true},"hf":{"layout":"gpt2"}})";

constexpr Flavor kFlavors[] = {
    {"debugmodel", R"({"dim":256,"num_layers":6,"num_heads":8,"num_kv_heads":4,"hidden_dim":768,"vocab_size":2048})"},
    {"gpt2",        layers::kJoined<kSmall, kGpt2>},
    {"gpt2_medium", layers::kJoined<kMedium, kGpt2>},
    {"gpt2_large",  layers::kJoined<kLarge, kGpt2>},
    {"gpt2_xl",     layers::kJoined<kXl, kGpt2>},
};
// clang-format on

}  // namespace

std::span<const Flavor> Gpt::flavors() {
  return kFlavors;
}

}  // namespace titan::gpt
