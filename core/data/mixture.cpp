// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/mixture.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <titan/error.h>

#include "core/data/hash.h"

namespace titan {

Mixture::Mixture(const std::vector<double>& weights, uint64_t seed)
    : shift_(mix_bits(seed)) {
  for (const double weight : weights)
    TITAN_USER_CHECK(std::isfinite(weight) && weight >= 0,
                     "[data.sources.weight] expected a non-negative number, "
                     "got ",
                     weight);
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  TITAN_USER_CHECK(total > 0,
                   "[data.sources.weight] expected a positive one, got ",
                   weights);
  double sum = 0;
  size_t last = 0;  // Of positive weight: takes what rounding leaves.
  for (size_t i = 0; i < weights.size(); ++i) {
    sum += weights[i];
    if (weights[i] > 0) last = i;
    // 2^53 steps are exact in a double.
    const double step = std::min(sum / total * 0x1p53, 0x1p53 - 1);
    ends_.push_back(static_cast<uint64_t>(step) << 11);
  }
  std::fill(ends_.begin() + static_cast<int64_t>(last), ends_.end(), ~0ull);
}

int Mixture::draw(int64_t row) const {
  // Even, hence below the end of all.
  const uint64_t point =
      (shift_ + static_cast<uint64_t>(row) * 0x9E3779B97F4A7C15ull) & ~1ull;
  const auto end = std::upper_bound(ends_.begin(), ends_.end() - 1, point);
  return static_cast<int>(end - ends_.begin());
}

}  // namespace titan
