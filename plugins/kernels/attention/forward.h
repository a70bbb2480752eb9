// SPDX-License-Identifier: BSD-3-Clause
// Forward of some queries of one head: running maximum and sum per query over
// the blocks of keys that it sees. Scores are in base 2: times log2(e).
#pragma once

#include "plugins/kernels/attention/block.h"

namespace titan::kernels::attention {

template <typename Element>
struct ForwardProblem {
  Sizes sizes;
  Sight sight;
  float scale;
  Heads<const Element> query, key, value;
  Heads<Element> out;
  float* lse = nullptr;  // [T, N]; null = not wanted
};

template <typename Element>
class ForwardHead {
 public:
  explicit ForwardHead(const ForwardProblem<Element>& problem)
      : problem_(problem), sizes_(problem.sizes) {
    const int64_t head = padded(sizes_.head_dim);
    const int64_t value = padded(sizes_.value_dim);
    rows_.resize(kQueries * std::max(head, value));
    query_.resize(head * kQueries);
    out_.resize(value * kQueries);
    scores_.resize(kKeys * kQueries);
  }

  /// Queries [begin, end) of the document.
  void run(const Document& document, int64_t head, int64_t begin, int64_t end) {
    const int64_t key_head = head / sizes_.group();
    keys_.load(problem_.key, document, key_head, sizes_.head_dim);
    values_.load(problem_.value, document, key_head, sizes_.value_dim);
    for (; begin < end; begin += kQueries)
      run_block(document, head, begin, std::min(kQueries, end - begin));
  }

 private:
  void run_block(const Document& document,
                 int64_t head,
                 int64_t begin,
                 int64_t count) {
    start(document, head, begin, count);
    const int64_t first = document.num_keys - document.num_queries + begin;
    const int64_t last = first + count - 1;
    for_key_blocks(
        problem_.sight, first, last, document.num_keys, [&](Keys keys) {
          add_keys(keys, first, last);
        });
    finish(document, head, begin, count);
  }

  void start(const Document& document,
             int64_t head,
             int64_t begin,
             int64_t count) {
    const Rows<float> rows{rows_.data(), padded(sizes_.head_dim)};
    load_rows(problem_.query.at(document.query_begin + begin, head),
              problem_.query.token_stride,
              count,
              sizes_.head_dim,
              problem_.scale * kLog2E,
              rows);
    std::fill(rows.data + count * rows.stride,
              rows.data + kQueries * rows.stride,
              0.0f);
    transpose({rows.data, rows.stride},
              kQueries,
              sizes_.head_dim,
              {query_.data(), kQueries});
    std::fill(out_.begin(), out_.end(), 0.0f);
    std::fill(maximum_, maximum_ + kQueries, kMinusInfinity);
    std::fill(sum_, sum_ + kQueries, 0.0f);
  }

  void add_keys(Keys keys, int64_t first, int64_t last) {
    const int64_t count = keys.end - keys.begin;
    tile_product<Start::kZero>(keys_.from(keys.begin),
                               {query_.data(), kQueries},
                               {scores_.data(), kQueries},
                               count,
                               kQueries,
                               sizes_.head_dim);
    if (!problem_.sight.is_whole(first, last, keys))
      hide(problem_.sight, keys, first, scores_.data());
    exponentiate(count);
    tile_product<Start::kLoad>(transposed(values_.from(keys.begin)),
                               {scores_.data(), kQueries},
                               {out_.data(), kQueries},
                               sizes_.value_dim,
                               kQueries,
                               count);
  }

  /// Scores become weights relative to the maximum so far; sums and output
  /// are brought to it. All queries at once: their chains of dependent
  /// operations run side by side.
  void exponentiate(int64_t count) {
    Vec before[kQueryVectors], base[kQueryVectors], sum[kQueryVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kQueryVectors; ++v)
      before[v] = base[v] = load(maximum_ + v * kLanes);
    for (int64_t key = 0; key < count; ++key) {
      const float* row = scores_.data() + key * kQueries;
#pragma GCC unroll 8
      for (int v = 0; v < kQueryVectors; ++v)
        base[v] = hn::Max(base[v], load(row + v * kLanes));
    }
    bool is_same = true;
#pragma GCC unroll 8
    for (int v = 0; v < kQueryVectors; ++v) {
      store(base[v], maximum_ + v * kLanes);
      is_same = is_same && hn::AllTrue(kFloats, hn::Eq(before[v], base[v]));
      // A query that has seen nothing yet: 2^(-inf - 0) = 0.
      base[v] = hn::IfThenZeroElse(hn::Eq(base[v], broadcast(kMinusInfinity)),
                                   base[v]);
      sum[v] = hn::Zero(kFloats);
    }
    for (int64_t key = 0; key < count; ++key) {
      float* row = scores_.data() + key * kQueries;
#pragma GCC unroll 8
      for (int v = 0; v < kQueryVectors; ++v) {
        const Vec weight = exp2(hn::Sub(load(row + v * kLanes), base[v]));
        store(weight, row + v * kLanes);
        sum[v] = hn::Add(sum[v], weight);
      }
    }
#pragma GCC unroll 8
    for (int v = 0; v < kQueryVectors; ++v) {
      const Vec shrink = exp2(hn::Sub(before[v], base[v]));
      store(hn::MulAdd(load(sum_ + v * kLanes), shrink, sum[v]),
            sum_ + v * kLanes);
      if (!is_same) shrink_out(shrink, v * kLanes);
    }
  }

  void shrink_out(Vec factor, int64_t lane) {
    for (int64_t c = 0; c < sizes_.value_dim; ++c) {
      float* row = out_.data() + c * kQueries + lane;
      store(hn::Mul(load(row), factor), row);
    }
  }

  void finish(const Document& document,
              int64_t head,
              int64_t begin,
              int64_t count) {
    float inverse[kQueries];
    for (int64_t i = 0; i < count; ++i) inverse[i] = 1 / sum_[i];
    const int64_t token = document.query_begin + begin;
    store_transposed(out_.data(),
                     inverse,
                     count,
                     sizes_.value_dim,
                     rows_.data(),
                     problem_.out.at(token, head),
                     problem_.out.token_stride);
    if (problem_.lse == nullptr) return;
    for (int64_t i = 0; i < count; ++i)
      problem_.lse[(token + i) * sizes_.query_heads + head] =
          (maximum_[i] + std::log2(sum_[i])) / kLog2E;
  }

  const ForwardProblem<Element>& problem_;
  const Sizes sizes_;
  Scratch rows_;    // [kQueries, padded(H | V)]
  Scratch query_;   // [H, kQueries], scaled
  Scratch out_;     // [V, kQueries]
  Scratch scores_;  // [kKeys, kQueries]
  HeadRows keys_, values_;
  alignas(64) float maximum_[kQueries], sum_[kQueries];
};

}  // namespace titan::kernels::attention
