// SPDX-License-Identifier: BSD-3-Clause
// Multi-token prediction (arXiv 2412.19437, section 2.2): in training, blocks
// behind the model predict tokens further ahead, one after the other, through
// the model's own embedding and head. Legend: T tokens, D model dim, d depth:
// one predicts what follows the token d ahead.
//
// The first depth reads the hidden state behind the model's final norm, a
// further one that behind the norm of the depth before. The report leaves it
// open (its h_i^0 is "the representation given by the main model"); those that
// run the released weights do so (transformers 5.24 modeling_layers.py MtpModel
// on hidden_states[-1], vLLM's deepseek_mtp.py), and Megatron-LM trains so
// (transformer_block.py, has_final_layernorm_in_this_stage). torchtitan reads
// it before the norm, which is another network: hnorm does not undo the final
// norm's weight.
#pragma once

#include <algorithm>
#include <cmath>
#include <deque>
#include <vector>

#include <titan/sdk.hpp>

namespace titan::layers {

template <typename Block>
struct MultiTokenConfig {
  std::vector<typename Block::Config> blocks;  // one per depth; may be empty
  double norm_eps = 0;
  double loss_coeff = 0;  // of the mean over depths
};

/// block(eh_proj [enorm(e) | hnorm(h)]), normed; the block's names and those
/// around it are at one level, `b`.
template <typename Block>
class MultiTokenDepth {
 public:
  MultiTokenDepth(const Build& b,
                  int64_t dim,
                  const typename Block::Config& block,
                  double norm_eps)
      : block_(b, block),
        enorm_(here(b) / "enorm", dim, {norm_eps}),
        hnorm_(here(b) / "hnorm", dim, {norm_eps}),
        eh_proj_(here(b) / "eh_proj", {2 * dim, dim}, projection_init(dim)),
        norm_(here(b) / "mtp_norm", dim, {norm_eps}) {}

  Tensor operator()(Context& ctx,
                    const Tensor& e_TD,
                    const Tensor& h_TD) const {
    const Tensor both = cat({enorm_(ctx, e_TD), hnorm_(ctx, h_TD)}, -1);
    return norm_(ctx, block_(ctx, eh_proj_(ctx, both)));
  }

 private:
  Build here(const Build& b) const { return {b.builder(), block_.handle()}; }
  // PyTorch's own, which torchtitan leaves as it is.
  static Init projection_init(int64_t dim) {
    const double bound = 1 / std::sqrt(2.0 * static_cast<double>(dim));
    return init::uniform(-bound, bound);
  }

  Block block_;
  RMSNorm enorm_, hnorm_;
  Linear eh_proj_;
  RMSNorm norm_;
};

/// The last item before the head: passes the normed x on as it is. Documents
/// are apart: nothing is predicted beyond one's end, nor read.
template <typename Block>
class MultiToken : public Module<MultiToken<Block>> {
 public:
  /// Shares the weights of `embedding` and `head` (the embedding again, where
  /// they are one) and repeats their rules of initialisation.
  MultiToken(Build b,
             const MultiTokenConfig<Block>& c,
             Table vocabulary,
             Init embedding_init,
             Init head_init,
             const Embedding& embedding,
             const Leaf& head)
      : Module<MultiToken>(b, "layers.multi_token"),
        loss_coeff_(c.loss_coeff / static_cast<double>(c.blocks.size())),
        tok_embeddings_(b / "tok_embeddings", vocabulary, embedding_init),
        lm_head_(b / "lm_head", {vocabulary.dim, vocabulary.rows}, head_init),
        loss_(b.op("loss", "titan.cross_entropy/1")) {
    b.tie(embedding, tok_embeddings_);
    b.tie(head, lm_head_);
    int64_t depth = 0;
    for (const auto& block : c.blocks)
      depths_.emplace_back(b / depth++, vocabulary.dim, block, c.norm_eps);
  }

  Tensor forward(Context& ctx, const Tensor& x_TD) const {
    if (!ctx.is_training()) return x_TD;
    const Tensor tokens_T = ctx.batch("tokens");
    const Tensor labels_T = ctx.batch("labels");
    const Tensor weight_T = ctx.batch("loss_weight");
    const Tensor document_T = ctx.batch("doc_id");
    Tensor h_TD = x_TD, sum;
    int64_t ahead = 0;
    for (const auto& depth : depths_) {
      ++ahead;
      const Tensor is_beyond_T = at(document_T, ahead, -1) != document_T;
      const Tensor e_TD = tok_embeddings_(
          ctx, at(tokens_T, ahead, 0).masked_fill(is_beyond_T, 0));
      h_TD = depth(ctx, e_TD, h_TD.masked_fill(is_beyond_T.unsqueeze(1), 0));
      const Tensor loss = loss_(
          ctx,
          lm_head_(ctx, h_TD),
          at(labels_T, ahead, kNoTarget).masked_fill(is_beyond_T, kNoTarget),
          at(weight_T, ahead, 0));
      sum = sum.defined() ? sum + loss : loss;
    }
    ctx.add_loss("mtp", sum * loss_coeff_, "tokens");
    return x_TD;
  }

 private:
  static constexpr double kNoTarget = -100;

  // out[t] = x[t + ahead], `none` where there is no such t.
  static Tensor at(const Tensor& x_T, int64_t ahead, double none) {
    const int64_t count = std::min(ahead, x_T.size(0));
    return cat({x_T.slice(0, count), full(x_T, {count}, none)}, 0);
  }

  double loss_coeff_;
  Embedding tok_embeddings_;
  Linear lm_head_;
  Op loss_;
  std::deque<MultiTokenDepth<Block>> depths_;
};

}  // namespace titan::layers
