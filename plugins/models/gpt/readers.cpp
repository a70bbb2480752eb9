// SPDX-License-Identifier: BSD-3-Clause
// Which options have a reader, given the others: what model.cpp, config.cpp and
// the parts of layers/ look at, as a table. A row says when its option, or its
// section, is read, and what to tell somebody who set it all the same.
#include <algorithm>

#include "plugins/models/gpt/config.h"

namespace titan::gpt {
namespace {

constexpr std::string_view kLatent = "with latent attention (latent.kv_dim)";
constexpr std::string_view kLatentNorms =
    "on the norms of latents (latent.kv_dim)";
constexpr std::string_view kAllSparse =
    "where every block has experts, which are gated silu without biases";
constexpr std::string_view kAllSlide =
    "where every block slides and turns by rope.sliding_theta";
constexpr std::string_view kNoneSlides = "without a block that slides";
constexpr std::string_view kOneGroup = "with one group (moe.num_groups)";

}  // namespace

std::vector<layers::Reader> readers_of(const GptConfig& c,
                                       const Config& config) {
  const auto& sparse = c.has_experts;
  const auto& windows = c.windows;
  const bool some_sparse =
      std::find(sparse.begin(), sparse.end(), true) != sparse.end();
  const bool some_dense =
      std::find(sparse.begin(), sparse.end(), false) != sparse.end();
  const bool some_full =
      std::find(windows.begin(), windows.end(), 0) != windows.end();
  const bool some_slide =
      std::any_of(windows.begin(), windows.end(), [](int64_t tokens) {
        return tokens > 0;
      });
  const bool has_theta = some_full || !c.sliding_theta;
  const bool has_groups = c.moe.router.num_groups > 1;
  const bool is_plain = !c.latent;
  const bool is_layer_norm = c.norm.is_layer_norm;
  const bool is_learned = c.positions == Positions::kLearned;
  std::vector<layers::Reader> out = {
      {"num_kv_heads", is_plain, kLatent},
      {"head_dim", is_plain, kLatent},
      {"hidden_dim", some_dense, kAllSparse},
      {"norm.kind", is_plain, kLatentNorms},
      {"norm.weight", is_plain, kLatentNorms},
      {"norm.bias", is_layer_norm, "without norm.kind layer"},
      {"norm.unit_offset", is_plain, kLatentNorms},
      {"norm.unit_offset", !is_layer_norm, "with norm.kind layer"},
      {"norm.unit_offset", c.norm.has_weight, "without norm.weight"},
      {"positions.kind", is_plain, kLatent},
      {"positions.offset", is_learned, "without positions.kind learned"},
      {"attention.scale_dim",
       !config.has("attention.scale"),
       "beside attention.scale"},
      {"attention.logit_cap", is_plain, kLatent},
      {"attention.qk_norm", is_plain, kLatent},
      {"attention.window", is_plain, kLatent},
      {"attention.window", some_slide, kNoneSlides},
      {"attention.layer_types", is_plain, kLatent},
      {"latent", !is_plain, "without latent.kv_dim"},
      {"feed_forward", some_dense, kAllSparse},
      {"bias.feed_forward", some_dense, kAllSparse},
      {"moe",
       some_sparse,
       "without a block of experts (moe.num_experts, moe.dense_layers)"},
      {"moe.num_limited_groups", has_groups, kOneGroup},
      {"moe.group_top", has_groups, kOneGroup},
      {"moe.shared_gate",
       c.moe.shared_hidden_dim > 0,
       "without moe.shared_hidden_dim"},
      {"rope", c.positions == Positions::kRope, "without positions.kind rope"},
      {"rope.fraction", is_plain, kLatent},
      {"rope.theta", has_theta, kAllSlide},
      {"rope.sliding_theta", some_slide, kNoneSlides},
      {"rope.scaling", has_theta, kAllSlide}};
  const auto scaling = layers::scaling_readers(c.rope.scaling);
  out.insert(out.end(), scaling.begin(), scaling.end());
  return out;
}

}  // namespace titan::gpt
