// SPDX-License-Identifier: BSD-3-Clause
// The general decoder: which parts stand where, out of the options; the parts
// are plugins/models/layers. Legend: T packed tokens, D model dim.
#include "plugins/models/gpt/model.h"

#include <algorithm>
#include <optional>

#include "plugins/models/gpt/layouts.h"
#include "plugins/models/layers/decoder.hpp"

namespace titan::gpt {
namespace {

/// Rows of the token table, scaled; plus those of a table of positions.
class InputEmbedding : public Module<InputEmbedding> {
 public:
  InputEmbedding(Build b, const GptConfig& c, Init init)
      : Module(b, "gpt.embedding"),
        scale_(c.embedding_scale),
        offset_(c.position_offset),
        tokens_(b / "tokens", {c.vocab_size, c.dim}, init, vocab()) {
    if (c.positions == Positions::kLearned)
      positions_.emplace(
          b / "positions", Table{c.max_position + offset_, c.dim}, init);
  }

  Tensor forward(Context& ctx, const Tensor& tokens_T) const {
    Tensor x_TD = tokens_(ctx, tokens_T);
    if (scale_ != 1) x_TD = x_TD * scale_;
    if (!positions_) return x_TD;
    const Tensor positions_T = ctx.batch("positions");
    return x_TD + (*positions_)(
                      ctx, offset_ == 0 ? positions_T : positions_T + offset_);
  }

  const Embedding& tokens() const { return tokens_; }

 private:
  double scale_;
  int64_t offset_;
  Embedding tokens_;
  std::optional<Embedding> positions_;
};

/// x + a norm's or no norm's f(x), in the four places that norms have.
class Block : public Module<Block> {
 public:
  struct Config {
    const GptConfig& model;
    int64_t layer;
  };

  Block(Build b, const Config& config)
      : Module(b, "gpt.block"),
        kind_(config.model.block),
        place_(config.model.norm_place),
        residual_scale_(config.model.residual_scale),
        attention_norm_(norm(b / "attention_norm", config)) {
    const Init linear = init::normal(config.model.init_std);
    const Init depth = init::normal(config.model.init_depth_std);
    if (config.model.latent)
      latent_.emplace(b / "attention", *config.model.latent, linear, depth);
    else
      attention_.emplace(b / "attention", attention_of(config), linear, depth);
    if (place_ == NormPlace::kBoth)
      attention_post_norm_ = norm(b / "attention_post_norm", config);
    if (kind_ != BlockKind::kParallelOneNorm)
      ffn_norm_ = norm(b / "ffn_norm", config);
    build_mix(b, config);
    if (place_ == NormPlace::kBoth)
      ffn_post_norm_ = norm(b / "ffn_post_norm", config);
  }

  Tensor forward(Context& ctx, const Tensor& x_TD) const {
    const auto attend = [&](const Tensor& in_TD) {
      return latent_ ? (*latent_)(ctx, in_TD) : (*attention_)(ctx, in_TD);
    };
    const auto mix = [&](const Tensor& in_TD) {
      return moe_ ? (*moe_)(ctx, in_TD) : (*feed_forward_)(ctx, in_TD);
    };
    if (kind_ == BlockKind::kSequential) {
      const Tensor h_TD =
          add(ctx, x_TD, attention_norm_, attention_post_norm_, attend);
      return add(ctx, h_TD, *ffn_norm_, ffn_post_norm_, mix);
    }
    const Tensor n_TD = attention_norm_(ctx, x_TD);
    const Tensor sum_TD =
        attend(n_TD) + mix(ffn_norm_ ? (*ffn_norm_)(ctx, x_TD) : n_TD);
    return x_TD + scaled(sum_TD);
  }

 private:
  static Leaf norm(const Build& b, const Config& config) {
    return layers::norm_leaf(b, config.model.dim, config.model.norm);
  }

  static layers::AttentionConfig attention_of(const Config& config) {
    const GptConfig& c = config.model;
    layers::AttentionConfig out = layers::attention_of(c);
    out.window = c.windows[static_cast<size_t>(config.layer)];
    if (out.window > 0 && c.sliding_theta)
      out.rope = {.op = c.rope.op,
                  .theta = *c.sliding_theta,
                  .rotary_dim = c.rope.rotary_dim,
                  .max_position = c.rope.max_position};
    out.scale = c.attention_scale * out.rope.attention_factor *
                out.rope.attention_factor;
    out.has_output_bias = c.has_output_bias;
    out.logit_cap = c.attention_logit_cap;
    out.has_rope = c.positions == Positions::kRope;
    if (c.has_qk_norm)
      out.qk_norm = layers::QkNorm{c.norm, c.qk_norm_is_over_width};
    return out;
  }

  void build_mix(const Build& b, const Config& config) {
    const GptConfig& c = config.model;
    const Init linear = init::normal(c.init_std);
    const Init depth = init::normal(c.init_depth_std);
    if (c.has_experts[static_cast<size_t>(config.layer)])
      moe_.emplace(b / "moe",
                   c.moe,
                   layers::MoeInit{.gate = linear,
                                   .experts = {linear, depth, linear},
                                   .shared_linear = linear,
                                   .shared_depth = depth,
                                   .shared_up = linear});
    else
      feed_forward_.emplace(
          b / "feed_forward",
          layers::FeedForwardConfig{.dim = c.dim,
                                    .hidden_dim = c.hidden_dim,
                                    .has_bias = c.has_feed_forward_bias,
                                    .is_gated = c.is_gated,
                                    .activation = c.activation},
          linear,
          depth,
          linear);
  }

  template <typename Function>
  Tensor add(Context& ctx,
             const Tensor& x_TD,
             const Leaf& norm,
             const std::optional<Leaf>& post_norm,
             const Function& f) const {
    switch (place_) {
      case NormPlace::kPre:
        return x_TD + scaled(f(norm(ctx, x_TD)));
      case NormPlace::kPost:
        return x_TD + scaled(norm(ctx, f(x_TD)));
      case NormPlace::kBoth:
        return x_TD + scaled((*post_norm)(ctx, f(norm(ctx, x_TD))));
      default:
        return norm(ctx, x_TD + scaled(f(x_TD)));
    }
  }

  Tensor scaled(const Tensor& x_TD) const {
    return residual_scale_ == 1 ? x_TD : x_TD * residual_scale_;
  }

  BlockKind kind_;
  NormPlace place_;
  double residual_scale_;
  Leaf attention_norm_;
  std::optional<layers::GroupedQueryAttention> attention_;
  std::optional<layers::LatentAttention> latent_;
  std::optional<Leaf> attention_post_norm_, ffn_norm_, ffn_post_norm_;
  std::optional<layers::FeedForward> feed_forward_;
  std::optional<layers::Moe> moe_;
};

std::vector<Block::Config> blocks_of(const GptConfig& c) {
  std::vector<Block::Config> blocks;
  for (int64_t layer = 0; layer < c.num_layers; ++layer)
    blocks.push_back({c, layer});
  return blocks;
}

}  // namespace

/// The sequence embedding, blocks, norm; the host applies the head.
class Network {
 public:
  Network(const Build& b, const GptConfig& c)
      : embedding_(b / "embedding", c, init::normal(c.init_std)),
        blocks_(b / "layers", blocks_of(c)) {
    if (c.has_final_norm) norm_ = layers::norm_leaf(b / "norm", c.dim, c.norm);
    const Linear head(b / "lm_head",
                      {c.dim, c.vocab_size, c.has_head_bias},
                      init::normal(c.init_std),
                      vocab());
    if (c.tie_embeddings) b.tie(embedding_.tokens(), head);
    const Carry carry = residual(c.dim);
    b.item(embedding_, carry, {.batch = {"tokens"}});
    for (const Block& block : blocks_) b.item(block, carry);
    if (norm_) b.item(*norm_, carry);
    b.output(head, c.logit_scale, c.logit_cap);
  }

 private:
  InputEmbedding embedding_;
  layers::Blocks<Block> blocks_;
  std::optional<Leaf> norm_;
};

Gpt::Gpt(const Config& config) : config_(config) {
  check_layout(config_);
  // Faults in hf.keys are found now, not at the first export.
  titan_key_sink nobody{};
  nobody.struct_size = sizeof(nobody);
  nobody.add = [](void*, const titan_key_rule*) {};
  Keys keys(nobody);
  describe_keys(keys);
}

Gpt::~Gpt() = default;

void Gpt::build(Build b) {
  network_ = std::make_unique<Network>(b, config_);
}

double Gpt::flops_per_token(int64_t seq_len) const {
  const GptConfig& c = config_;
  // The first to hear of the length, before any step.
  TITAN_USER_CHECK(
      c.positions != Positions::kLearned || seq_len <= c.max_position,
      "[training.seq_len] the model has a table of positions: expected at "
      "most its max_position ",
      c.max_position,
      ", got ",
      seq_len,
      ". Lower it, or raise model.config.max_position.");
  int64_t weights = 0, attended = 0;
  for (int64_t layer = 0; layer < c.num_layers; ++layer) {
    weights += c.latent
                   ? layers::latent_attention_weights(*c.latent) + 2 * c.dim
                   : layers::attention_weights(c);
    weights +=
        c.has_experts[static_cast<size_t>(layer)]
            ? layers::moe_active_weights(c.moe)
            : layers::feed_forward_weights({.dim = c.dim,
                                            .hidden_dim = c.hidden_dim,
                                            .has_bias = c.has_feed_forward_bias,
                                            .is_gated = c.is_gated});
    const int64_t window = c.windows[static_cast<size_t>(layer)];
    attended += window > 0 ? std::min(seq_len, window) : seq_len;
  }
  if (!c.latent) return layers::decoder_flops(c, weights, attended);
  return layers::decoder_flops(
      c, weights, attended, c.latent->key_dim() + c.latent->value_dim);
}

}  // namespace titan::gpt
