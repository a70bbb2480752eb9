// SPDX-License-Identifier: BSD-3-Clause
// Transposing blocks of floats, four rows at a time: gathers of 16 rows cost
// about as much per element as scalar loads.
#pragma once

#include "plugins/kernels/simd/tile_product.h"

namespace titan::kernels {

namespace detail {

/// out[c][0..3] = rows[0..3][c] for c < min(kLanes, columns).
inline void transpose_four(Rows<const float> rows,
                           int64_t columns,
                           Rows<float> out) {
  const hn::Repartition<double, Floats> pairs;
  const auto row = [&](int64_t r) { return load(rows.data + r * rows.stride); };
  const auto as_pairs = [&](Vec v) { return hn::BitCast(pairs, v); };
  const Vec a = row(0), b = row(1), c = row(2), d = row(3);
  const auto low_ab = as_pairs(hn::InterleaveLower(kFloats, a, b));
  const auto low_cd = as_pairs(hn::InterleaveLower(kFloats, c, d));
  const auto high_ab = as_pairs(hn::InterleaveUpper(kFloats, a, b));
  const auto high_cd = as_pairs(hn::InterleaveUpper(kFloats, c, d));
  // Each 128-bit block of vector i: column i of that block of the four rows.
  alignas(64) float columns_of[4][kLanes];
  store(hn::BitCast(kFloats, hn::InterleaveLower(pairs, low_ab, low_cd)),
        columns_of[0]);
  store(hn::BitCast(kFloats, hn::InterleaveUpper(pairs, low_ab, low_cd)),
        columns_of[1]);
  store(hn::BitCast(kFloats, hn::InterleaveLower(pairs, high_ab, high_cd)),
        columns_of[2]);
  store(hn::BitCast(kFloats, hn::InterleaveUpper(pairs, high_ab, high_cd)),
        columns_of[3]);
  for (int64_t i = 0; i < columns; ++i)
    std::memcpy(out.data + i * out.stride, &columns_of[i % 4][i / 4 * 4], 16);
}

}  // namespace detail

/// out [columns, count] from rows [count, columns]; rows may be read up to the
/// next multiple of kLanes, and `count` is rounded up to 4 in both.
inline void transpose(Rows<const float> rows,
                      int64_t count,
                      int64_t columns,
                      Rows<float> out) {
  for (int64_t r = 0; r < count; r += 4)
    for (int64_t c = 0; c < columns; c += kLanes)
      detail::transpose_four({rows.data + r * rows.stride + c, rows.stride},
                             std::min<int64_t>(kLanes, columns - c),
                             {out.data + c * out.stride + r, out.stride});
}

}  // namespace titan::kernels
