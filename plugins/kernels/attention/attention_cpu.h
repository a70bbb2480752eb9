// SPDX-License-Identifier: BSD-3-Clause
// titan.attention/1 on CPU vectors, fp32 and bf16 with sums in fp32: softmax
// attention block by block, without the [T, J] scores in memory (Milakov and
// Gimelshein 2018; Dao et al. 2022, FlashAttention).
//
// Queries lie across the lanes: a block's scores are [keys, 64 queries], so
// maxima, sums and exponentials need no exchange between lanes, keys and values
// are broadcast element by element, and head dims are any, those of q and v
// different too. Backward recomputes the scores from the saved log-sum-exp. A
// task of forward is 1,024 queries of a head, of backward one key head of a
// document with all its query heads: the order of every sum is fixed whatever
// the number of threads.
//
// Legend: T query tokens, J key tokens, N query heads, M key heads, H head dim,
// V head dim of the values.
#pragma once

#include <titan/sdk/kernel.hpp>

namespace titan::kernels {

class AttentionCpu {
 public:
  /// Refuses a cap on the scores and few queries, whose lanes would idle.
  int score(const Shapes& shapes) const;
  /// q [T, N, H], k [J, M, H], v [J, M, V], cu_seqlens [documents + 1] ->
  /// out [T, N, V], lse [T, N] in fp32.
  void forward(const Call& call) const;
  void backward(const Call& call) const;
};

}  // namespace titan::kernels
