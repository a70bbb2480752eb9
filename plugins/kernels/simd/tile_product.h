// SPDX-License-Identifier: BSD-3-Clause
// C += A B for small blocks that stay in the first-level cache: elements of A
// are broadcast from memory as they lie (any strides), rows of B and C are
// vectors. Sums run over k in order, so a result depends on nothing but its
// operands.
#pragma once

#include "plugins/kernels/simd/vector.h"

namespace titan::kernels {

/// A of [rows, k]: element (r, c) at data[r * row_stride + c * column_stride].
/// A stride known to the compiler becomes part of the addresses; 0 = not known.
template <int64_t kRowStride = 0>
struct Broadcast {
  const float* data;
  int64_t given_row_stride;
  int64_t column_stride;
  int64_t row_stride() const {
    return kRowStride != 0 ? kRowStride : given_row_stride;
  }
};

/// Rows of `width` floats, `stride` apart; width a multiple of kLanes.
template <typename Element>
struct Rows {
  Element* data;
  int64_t stride;
};

enum class Start { kZero, kLoad };

namespace detail {

/// `kRows` x `kVectors` accumulators in registers over the whole of k.
template <int kRows, int kVectors, Start kStart, int64_t kStride>
inline void product_tile(Broadcast<kStride> a,
                         Rows<const float> b,
                         Rows<float> c,
                         int64_t k) {
  Vec sum[kRows][kVectors];
#pragma GCC unroll 32
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      sum[r][v] = kStart == Start::kLoad
                      ? load(c.data + r * c.stride + v * kLanes)
                      : hn::Zero(kFloats);
  for (int64_t i = 0; i < k; ++i) {
    Vec row[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      row[v] = load(b.data + i * b.stride + v * kLanes);
    const float* element = a.data + i * a.column_stride;
#pragma GCC unroll 32
    for (int r = 0; r < kRows; ++r) {
      const Vec factor = broadcast(element[r * a.row_stride()]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v)
        sum[r][v] = hn::MulAdd(factor, row[v], sum[r][v]);
    }
  }
#pragma GCC unroll 32
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      store(sum[r][v], c.data + r * c.stride + v * kLanes);
}

/// The last rows, fewer than a full tile.
template <int kRows, int kVectors, Start kStart, int64_t kStride>
inline void product_tail(Broadcast<kStride> a,
                         Rows<const float> b,
                         Rows<float> c,
                         int64_t rows,
                         int64_t k) {
  if constexpr (kRows > 0) {
    if (rows == kRows) {
      product_tile<kRows, kVectors, kStart>(a, b, c, k);
    } else {
      product_tail<kRows - 1, kVectors, kStart>(a, b, c, rows, k);
    }
  }
}

template <int kVectors, Start kStart, int64_t kStride>
inline void product_columns(Broadcast<kStride> a,
                            Rows<const float> b,
                            Rows<float> c,
                            int64_t rows,
                            int64_t k) {
  // Accumulators, one row of B and one factor fill the registers.
  constexpr int kFit = (kRegisters - kVectors - 2) / kVectors;
  constexpr int kRows = kFit < 12 ? kFit : 12;
  int64_t r = 0;
  const auto at_row = [&](int64_t row) {
    return Broadcast<kStride>{
        a.data + row * a.row_stride(), a.given_row_stride, a.column_stride};
  };
  for (; r + kRows <= rows; r += kRows)
    product_tile<kRows, kVectors, kStart>(
        at_row(r), b, {c.data + r * c.stride, c.stride}, k);
  product_tail<kRows - 1, kVectors, kStart>(
      at_row(r), b, {c.data + r * c.stride, c.stride}, rows - r, k);
}

}  // namespace detail

/// C [rows, width] = A [rows, k] B [k, width], or += with Start::kLoad.
template <Start kStart, int64_t kStride>
void tile_product(Broadcast<kStride> a,
                  Rows<const float> b,
                  Rows<float> c,
                  int64_t rows,
                  int64_t width,
                  int64_t k) {
  constexpr int kWide = kRegisters == 32 ? 4 : 2;
  int64_t column = 0;
  const auto run = [&]<int kVectors>() {
    detail::product_columns<kVectors, kStart>(
        a, {b.data + column, b.stride}, {c.data + column, c.stride}, rows, k);
    column += kVectors * kLanes;
  };
  while (width - column >= kWide * kLanes) run.template operator()<kWide>();
  const int64_t left = (width - column) / kLanes;
  if (left == 3) run.template operator()<3>();
  if (left == 2) run.template operator()<2>();
  if (left == 1) run.template operator()<1>();
}

}  // namespace titan::kernels
