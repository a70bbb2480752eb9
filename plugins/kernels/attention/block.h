// SPDX-License-Identifier: BSD-3-Clause
// Moving rows of tokens between a tensor and blocks with queries across lanes,
// and hiding what a query does not see.
#pragma once

#include <limits>

#include "plugins/kernels/attention/problem.h"
#include "plugins/kernels/simd/scratch.h"
#include "plugins/kernels/simd/tile_product.h"
#include "plugins/kernels/simd/transpose.h"

namespace titan::kernels::attention {

/// Queries of a block: the width of everything that has queries across lanes.
constexpr int64_t kQueries = 64;
constexpr int64_t kQueryVectors = kQueries / kLanes;
/// Keys of a block: whole tiles of 6 rows, and scores that stay near.
constexpr int64_t kKeys = 48;

constexpr float kLog2E = 1.44269504f;
constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

constexpr int64_t padded(int64_t dim) {
  return (dim + kLanes - 1) / kLanes * kLanes;
}

/// One row of `dim` elements from fp32, times `factor`.
template <typename Element>
void store_row(const float* row, float factor, int64_t dim, Element* to) {
  const Vec scale = broadcast(factor);
  const int64_t whole = dim / kLanes * kLanes;
  for (int64_t c = 0; c < whole; c += kLanes)
    store(hn::Mul(load(row + c), scale), to + c);
  for (int64_t c = whole; c < dim; ++c) from_float(row[c] * factor, to[c]);
}

/// rows [count, padded(dim)] in fp32, times `factor`, zero beyond dim.
template <typename Element>
void load_rows(const Element* from,
               int64_t token_stride,
               int64_t count,
               int64_t dim,
               float factor,
               Rows<float> rows) {
  const Vec scale = broadcast(factor);
  const int64_t whole = dim / kLanes * kLanes;
  for (int64_t i = 0; i < count; ++i) {
    const Element* source = from + i * token_stride;
    float* row = rows.data + i * rows.stride;
    for (int64_t c = 0; c < whole; c += kLanes)
      store(hn::Mul(load(source + c), scale), row + c);
    if (whole < dim)
      store(hn::Mul(load_first(source + whole, dim - whole), scale),
            row + whole);
  }
}

/// Rows of tokens from [dim, kQueries] times `factor` per query; `rows` is room
/// for [kQueries, padded(dim)].
template <typename Element>
void store_transposed(const float* block,
                      const float* factors,
                      int64_t count,
                      int64_t dim,
                      float* rows,
                      Element* to,
                      int64_t token_stride) {
  const int64_t stride = padded(dim);
  transpose({block, kQueries}, dim, kQueries, {rows, stride});
  for (int64_t i = 0; i < count; ++i)
    store_row(rows + i * stride, factors[i], dim, to + i * token_stride);
}

/// scores [keys, kQueries]: -inf where the query at position `first_query` +
/// lane does not see the key.
inline void hide(const Sight& sight,
                 Keys keys,
                 int64_t first_query,
                 float* scores) {
  const Vec lane = hn::Iota(kFloats, 0.0f);
  for (int64_t key = keys.begin; key < keys.end; ++key) {
    float* row = scores + (key - keys.begin) * kQueries;
    const Sight::Lanes seen = sight.lanes(key, first_query);
    const Vec lower = broadcast(static_cast<float>(seen.lower));
    const Vec upper = broadcast(static_cast<float>(seen.upper));
    for (int64_t i = 0; i < kQueries; i += kLanes) {
      const Vec at = hn::Add(lane, broadcast(static_cast<float>(i)));
      const Mask is_seen = hn::And(hn::Ge(at, lower), hn::Lt(at, upper));
      store(hn::IfThenElse(is_seen, load(row + i), broadcast(kMinusInfinity)),
            row + i);
    }
  }
}

/// The keys or values of one head of a document, laid together: in a tensor
/// they are far apart, and by powers of two, which few sets of a cache hold.
class HeadRows {
 public:
  template <typename Element>
  void load(const Heads<const Element>& from,
            const Document& document,
            int64_t head,
            int64_t dim) {
    stride_ = padded(dim);
    rows_.resize(static_cast<size_t>(document.num_keys * stride_));
    load_rows(from.at(document.key_begin, head),
              from.token_stride,
              document.num_keys,
              dim,
              1.0f,
              {rows_.data(), stride_});
  }
  Broadcast<> from(int64_t key) const {
    return {rows_.data() + key * stride_, stride_, 1};
  }

 private:
  Scratch rows_;
  int64_t stride_ = 0;
};

/// Calls body(keys) for each block of the keys that any of the queries at
/// positions [first, last] sees.
template <typename Body>
void for_key_blocks(const Sight& sight,
                    int64_t first,
                    int64_t last,
                    int64_t num_keys,
                    const Body& body) {
  const Keys seen = sight.of(first, last, num_keys);
  for (int64_t begin = seen.begin; begin < seen.end; begin += kKeys)
    body(Keys{begin, std::min(seen.end, begin + kKeys)});
}

/// [dim, count]: features are the rows.
inline Broadcast<1> transposed(Broadcast<> a) {
  return {a.data, 1, a.row_stride()};
}

}  // namespace titan::kernels::attention
