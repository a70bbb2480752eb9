// SPDX-License-Identifier: BSD-3-Clause
// The options as a struct, with what null stands for filled in.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plugins/models/layers/decoder_config.hpp"
#include "plugins/models/layers/latent_attention.hpp"
#include "plugins/models/layers/moe.hpp"
#include "plugins/models/layers/norm.hpp"
#include "plugins/models/layers/options.hpp"

namespace titan::gpt {

enum class NormPlace { kPre, kPost, kBoth, kSum };
enum class BlockKind { kSequential, kParallel, kParallelOneNorm };
enum class Positions { kRope, kLearned, kNone };

struct GptConfig : layers::DecoderConfig {
  explicit GptConfig(const Config& config);

  layers::NormConfig norm;
  NormPlace norm_place;
  bool has_final_norm;
  Positions positions;
  int64_t position_offset;  // learned: row of position 0
  double embedding_scale;
  BlockKind block;
  double residual_scale;
  double attention_scale;  // without YaRN's factor
  std::optional<double> sliding_theta;
  double attention_logit_cap;
  bool has_qk_norm, qk_norm_is_over_width;
  std::vector<int64_t> windows;  // of each block; 0: all earlier tokens
  std::optional<layers::LatentAttentionConfig> latent;  // in attention's place
  std::string activation;
  bool is_gated;
  bool has_qkv_bias, has_output_bias, has_feed_forward_bias, has_head_bias;
  double logit_scale, logit_cap;
  layers::MoeConfig moe;
  std::vector<bool> has_experts;  // of each block
  double init_std, init_depth_std;
  std::string layout;  // of names outside
  Json json;           // every option as given, for hf.cpp
};

/// Who reads which option of this model.
std::vector<layers::Reader> readers_of(const GptConfig& c,
                                       const Config& config);

}  // namespace titan::gpt
