// SPDX-License-Identifier: BSD-3-Clause
// Backward of one key head of one document. With P the weights, D = dOut . Out
// per query and dS = P (dOut V^T - D):
//   dV = P^T dOut,  dK = scale dS^T Q,  dQ = scale dS K.
// Scores are in base 2, so the rows of Q carry a factor log2(e) that dK loses
// again.
#pragma once

#include "plugins/kernels/attention/block.h"

namespace titan::kernels::attention {

template <typename Element>
struct BackwardProblem {
  Sizes sizes;
  Sight sight;
  float scale;
  Heads<const Element> query, key, value, out, grad_out;
  const float* lse = nullptr;
  int64_t lse_token_stride = 0, lse_head_stride = 0;
  Heads<Element> grad_query, grad_key, grad_value;  // null = not wanted
};

template <typename Element>
class BackwardHead {
 public:
  explicit BackwardHead(const BackwardProblem<Element>& problem)
      : problem_(problem),
        sizes_(problem.sizes),
        head_(padded(sizes_.head_dim)),
        value_(padded(sizes_.value_dim)) {
    query_rows_.resize(kQueries * head_);
    grad_rows_.resize(kQueries * value_);
    out_rows_.resize(kQueries * value_);
    query_.resize(head_ * kQueries);
    grad_query_.resize(head_ * kQueries);
    grad_out_.resize(value_ * kQueries);
    weights_.resize(kKeys * kQueries);
    grad_scores_.resize(kKeys * kQueries);
  }

  void run(const Document& document, int64_t key_head) {
    keys_.load(problem_.key, document, key_head, sizes_.head_dim);
    values_.load(problem_.value, document, key_head, sizes_.value_dim);
    grad_keys_.assign(document.num_keys * head_, 0.0f);
    grad_values_.assign(document.num_keys * value_, 0.0f);
    const int64_t group = sizes_.group();
    for (int64_t head = key_head * group; head < (key_head + 1) * group; ++head)
      for (int64_t begin = 0; begin < document.num_queries; begin += kQueries)
        add_queries(document,
                    head,
                    begin,
                    std::min(kQueries, document.num_queries - begin));
    write(problem_.grad_key,
          document,
          key_head,
          grad_keys_,
          sizes_.head_dim,
          1 / kLog2E);
    write(problem_.grad_value,
          document,
          key_head,
          grad_values_,
          sizes_.value_dim,
          1.0f);
  }

 private:
  void add_queries(const Document& document,
                   int64_t head,
                   int64_t begin,
                   int64_t count) {
    const int64_t token = document.query_begin + begin;
    load_queries(token, head, count);
    const int64_t first = document.num_keys - document.num_queries + begin;
    const int64_t last = first + count - 1;
    for_key_blocks(
        problem_.sight, first, last, document.num_keys, [&](Keys keys) {
          add_keys(keys, first, last);
        });
    if (problem_.grad_query.data == nullptr) return;
    float factors[kQueries];
    std::fill(factors, factors + kQueries, problem_.scale);
    store_transposed(grad_query_.data(),
                     factors,
                     count,
                     sizes_.head_dim,
                     query_rows_.data(),
                     problem_.grad_query.at(token, head),
                     problem_.grad_query.token_stride);
  }

  /// Rows of the queries (scaled) and of the output's gradient, both ways
  /// round; log-sum-exp and D. Queries beyond `count` are zero and add nothing.
  void load_queries(int64_t token, int64_t head, int64_t count) {
    const auto rows = [&](const Heads<const Element>& from,
                          int64_t dim,
                          float factor,
                          Scratch& to) {
      const int64_t stride = padded(dim);
      load_rows(from.at(token, head),
                from.token_stride,
                count,
                dim,
                factor,
                {to.data(), stride});
      std::fill(to.begin() + count * stride, to.end(), 0.0f);
    };
    rows(problem_.query, sizes_.head_dim, problem_.scale * kLog2E, query_rows_);
    rows(problem_.grad_out, sizes_.value_dim, 1.0f, grad_rows_);
    rows(problem_.out, sizes_.value_dim, 1.0f, out_rows_);
    transpose({query_rows_.data(), head_},
              kQueries,
              sizes_.head_dim,
              {query_.data(), kQueries});
    transpose({grad_rows_.data(), value_},
              kQueries,
              sizes_.value_dim,
              {grad_out_.data(), kQueries});
    std::fill(grad_query_.begin(), grad_query_.end(), 0.0f);
    for (int64_t i = 0; i < kQueries; ++i) {
      Vec sum = hn::Zero(kFloats);
      for (int64_t c = 0; c < value_; c += kLanes)
        sum = hn::MulAdd(load(grad_rows_.data() + i * value_ + c),
                         load(out_rows_.data() + i * value_ + c),
                         sum);
      delta_[i] = hn::GetLane(hn::SumOfLanes(kFloats, sum));
      lse_[i] =
          i < count
              ? kLog2E * problem_.lse[(token + i) * problem_.lse_token_stride +
                                      head * problem_.lse_head_stride]
              : 0.0f;
    }
  }

  void add_keys(Keys keys, int64_t first, int64_t last) {
    const int64_t count = keys.end - keys.begin;
    const Broadcast<> key = keys_.from(keys.begin);
    const Rows<float> weights{weights_.data(), kQueries};
    const Rows<float> grad_scores{grad_scores_.data(), kQueries};
    tile_product<Start::kZero>(key,
                               {query_.data(), kQueries},
                               weights,
                               count,
                               kQueries,
                               sizes_.head_dim);
    if (!problem_.sight.is_whole(first, last, keys))
      hide(problem_.sight, keys, first, weights.data);
    tile_product<Start::kZero>(values_.from(keys.begin),
                               {grad_out_.data(), kQueries},
                               grad_scores,
                               count,
                               kQueries,
                               sizes_.value_dim);
    differentiate_softmax(count);
    const auto broadcast_of = [](Rows<float> block) {
      return Broadcast<kQueries>{block.data, kQueries, 1};
    };
    tile_product<Start::kLoad>(
        broadcast_of(weights),
        {grad_rows_.data(), value_},
        {grad_values_.data() + keys.begin * value_, value_},
        count,
        value_,
        kQueries);
    tile_product<Start::kLoad>(broadcast_of(grad_scores),
                               {query_rows_.data(), head_},
                               {grad_keys_.data() + keys.begin * head_, head_},
                               count,
                               head_,
                               kQueries);
    tile_product<Start::kLoad>(transposed(key),
                               {grad_scores.data, kQueries},
                               {grad_query_.data(), kQueries},
                               sizes_.head_dim,
                               kQueries,
                               count);
  }

  /// Scores become weights, gradients of weights those of scores.
  void differentiate_softmax(int64_t count) {
    Vec lse[kQueryVectors], delta[kQueryVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kQueryVectors; ++v) {
      lse[v] = load(lse_ + v * kLanes);
      delta[v] = load(delta_ + v * kLanes);
    }
    for (int64_t key = 0; key < count; ++key) {
      float* weight = weights_.data() + key * kQueries;
      float* grad = grad_scores_.data() + key * kQueries;
#pragma GCC unroll 8
      for (int v = 0; v < kQueryVectors; ++v) {
        const Vec p = exp2(hn::Sub(load(weight + v * kLanes), lse[v]));
        store(p, weight + v * kLanes);
        store(hn::Mul(p, hn::Sub(load(grad + v * kLanes), delta[v])),
              grad + v * kLanes);
      }
    }
  }

  void write(const Heads<Element>& to,
             const Document& document,
             int64_t head,
             const Scratch& rows,
             int64_t dim,
             float factor) const {
    if (to.data == nullptr) return;
    const int64_t stride = padded(dim);
    for (int64_t i = 0; i < document.num_keys; ++i)
      store_row(rows.data() + i * stride,
                factor,
                dim,
                to.at(document.key_begin + i, head));
  }

  const BackwardProblem<Element>& problem_;
  const Sizes sizes_;
  const int64_t head_, value_;     // padded dims
  Scratch query_rows_;             // [kQueries, head_], scaled
  Scratch grad_rows_, out_rows_;   // [kQueries, value_]
  Scratch query_, grad_query_;     // [H, kQueries]
  Scratch grad_out_;               // [V, kQueries]
  Scratch weights_, grad_scores_;  // [kKeys, kQueries]
  HeadRows keys_, values_;
  Scratch grad_keys_, grad_values_;  // [keys, head_ | value_]
  alignas(64) float lse_[kQueries], delta_[kQueries];
};

}  // namespace titan::kernels::attention
