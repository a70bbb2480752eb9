// SPDX-License-Identifier: BSD-3-Clause
// A loop over a row, one vector at a time; the last, shorter one goes through
// the same operations, so an element's bits do not depend on where it lies.
#pragma once

#include "plugins/kernels/simd/vector.h"

namespace titan::kernels {

/// Where a vector lies in a row: all lanes, or the first `count`.
struct Whole {
  int64_t at;
};
struct Part {
  int64_t at, count;
};

template <typename Element>
Vec load(const Element* row, Whole place) {
  return load(row + place.at);
}
template <typename Element>
Vec load(const Element* row, Part place) {
  return load_first(row + place.at, place.count);
}
template <typename Element>
void store(Vec value, Element* row, Whole place) {
  store(value, row + place.at);
}
template <typename Element>
void store(Vec value, Element* row, Part place) {
  store_first(value, row + place.at, place.count);
}

/// The value with 0 in lanes beyond the row.
inline Vec only(Vec value, Whole) {
  return value;
}
inline Vec only(Vec value, Part place) {
  return hn::IfThenElseZero(
      hn::FirstN(kFloats, static_cast<size_t>(place.count)), value);
}

/// Calls f(place) for the vectors of a row of `size` elements.
template <typename Function>
void each_vector(int64_t size, Function f) {
  int64_t at = 0;
  for (; at + kLanes <= size; at += kLanes) f(Whole{at});
  if (at < size) f(Part{at, size - at});
}

/// The sum over a row of what f(place, sum) adds to `sum`: four chains, since
/// an addition waits four cycles for the one before. Lanes beyond the row are
/// loaded as 0 and must add 0. The order depends on `size` alone.
template <typename Function>
float sum_of_vectors(int64_t size, Function f) {
  Vec sum[4] = {hn::Zero(kFloats),
                hn::Zero(kFloats),
                hn::Zero(kFloats),
                hn::Zero(kFloats)};
  int64_t at = 0;
  for (; at + 4 * kLanes <= size; at += 4 * kLanes) {
#pragma GCC unroll 4
    for (int64_t i = 0; i < 4; ++i) sum[i] = f(Whole{at + i * kLanes}, sum[i]);
  }
  for (; at + kLanes <= size; at += kLanes) sum[0] = f(Whole{at}, sum[0]);
  if (at < size) sum[1] = f(Part{at, size - at}, sum[1]);
  return hn::GetLane(hn::SumOfLanes(
      kFloats, hn::Add(hn::Add(sum[0], sum[1]), hn::Add(sum[2], sum[3]))));
}

}  // namespace titan::kernels
