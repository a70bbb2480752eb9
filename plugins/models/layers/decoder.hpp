// SPDX-License-Identifier: BSD-3-Clause
// The decoder that most families share: token embedding, pre-norm blocks, final
// norm, head. Legend: T packed tokens, D model dim. What a family's blocks are
// and how their parameters start is data: one config per block.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include <titan/sdk.hpp>

#include "plugins/models/layers/attention.hpp"
#include "plugins/models/layers/decoder_config.hpp"
#include "plugins/models/layers/feed_forward.hpp"
#include "plugins/models/layers/moe.hpp"
#include "plugins/models/layers/multi_token.hpp"

namespace titan::layers {

/// h = x + attention(norm(x)); out = h + mix(norm(h)), where mix is a
/// feed-forward or a mixture of experts. `Attention` has a Config with `dim`.
template <typename Attention>
class PreNormBlock : public Module<PreNormBlock<Attention>> {
 public:
  struct Config {
    double norm_eps;
    typename Attention::Config attention;
    Init attention_init, attention_output_init;
    FeedForwardConfig feed_forward;
    Init feed_forward_init, feed_forward_output_init;
    std::optional<MoeConfig> moe = std::nullopt;  // in feed_forward's place
    MoeInit moe_init = {};
  };

  PreNormBlock(Build b, const Config& c)
      : Module<PreNormBlock>(b, "layers.decoder_block"),
        attention_norm_(b / "attention_norm", c.attention.dim, {c.norm_eps}),
        attention_(b / "attention",
                   c.attention,
                   c.attention_init,
                   c.attention_output_init),
        ffn_norm_(b / "ffn_norm", c.attention.dim, {c.norm_eps}) {
    if (c.moe)
      moe_.emplace(b / "moe", *c.moe, c.moe_init);
    else
      feed_forward_.emplace(b / "feed_forward",
                            c.feed_forward,
                            c.feed_forward_init,
                            c.feed_forward_output_init);
  }

  Tensor forward(Context& ctx, const Tensor& x_TD) const {
    const Tensor h_TD = x_TD + attention_(ctx, attention_norm_(ctx, x_TD));
    const Tensor n_TD = ffn_norm_(ctx, h_TD);
    return h_TD + (moe_ ? (*moe_)(ctx, n_TD) : (*feed_forward_)(ctx, n_TD));
  }

 private:
  RMSNorm attention_norm_;
  Attention attention_;
  RMSNorm ffn_norm_;
  std::optional<FeedForward> feed_forward_;
  std::optional<Moe> moe_;
};

using DecoderBlock = PreNormBlock<GroupedQueryAttention>;

inline NormOptions norm_of(const DecoderConfig& c) {
  return {.eps = c.norm_eps, .offset = c.norm_offset};
}

/// The attention of `c`; qk-norm and window are the family's to set.
inline AttentionConfig attention_of(const DecoderConfig& c) {
  return {.dim = c.dim,
          .num_heads = c.num_heads,
          .num_kv_heads = c.num_kv_heads,
          .head_dim = c.head_dim,
          .scale = attention_scale(c.head_dim, c.rope),
          .has_qkv_bias = c.attention_bias,
          .has_output_bias = c.attention_bias,
          .rope = c.rope};
}

/// The blocks, "layers.0" and on.
template <typename Block>
struct Blocks : std::deque<Block> {
  Blocks(const Build& b, const std::vector<typename Block::Config>& configs) {
    int64_t layer = 0;
    for (const auto& config : configs) this->emplace_back(b / layer++, config);
  }
};

/// The sequence embed, blocks, norm; the host applies the head.
template <typename Block>
class Decoder {
 public:
  /// One weight is tied: then `head_init` is the rule that runs. `further`:
  /// blocks that predict tokens further ahead, in training.
  Decoder(const Build& b,
          const DecoderConfig& c,
          Init embedding_init,
          Init head_init,
          const std::vector<typename Block::Config>& blocks,
          const MultiTokenConfig<Block>& further = {})
      : tok_embeddings_(b / "tok_embeddings",
                        {c.vocab_size, c.dim},
                        c.tie_embeddings ? head_init : embedding_init,
                        vocab()),
        blocks_(b / "layers", blocks),
        norm_(b / "norm", c.dim, norm_of(c)),
        lm_head_(b / "lm_head", {c.dim, c.vocab_size}, head_init, vocab()) {
    if (c.tie_embeddings) b.tie(tok_embeddings_, lm_head_);
    const Carry carry = residual(c.dim);
    b.item(tok_embeddings_, carry, {.batch = {"tokens"}});
    for (const Block& block : blocks_) b.item(block, carry);
    b.item(norm_, carry);
    if (!further.blocks.empty()) {
      further_.emplace(b / "mtp_layers",
                       further,
                       Table{c.vocab_size, c.dim},
                       c.tie_embeddings ? head_init : embedding_init,
                       head_init,
                       tok_embeddings_,
                       c.tie_embeddings
                           ? static_cast<const Leaf&>(tok_embeddings_)
                           : lm_head_);
      b.item(*further_, carry);
    }
    b.output(lm_head_);
  }

 private:
  // In the order of the tree.
  Embedding tok_embeddings_;
  Blocks<Block> blocks_;
  RMSNorm norm_;
  Linear lm_head_;
  std::optional<MultiToken<Block>> further_;
};

}  // namespace titan::layers
