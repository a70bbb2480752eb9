// SPDX-License-Identifier: BSD-3-Clause
// Which source a row comes from. A pure function of the row's number, so that
// it needs no state and no layout changes it. Whole rows are drawn, so weights
// are shares of rows, whatever the lengths of documents. The draws are a
// golden-ratio sequence (Weyl; its gaps are as even as any sequence's): after
// N rows a share is off by about log(N)/N, not by 1/sqrt(N).
#pragma once

#include <cstdint>
#include <vector>

namespace titan {

class Mixture {
 public:
  /// `weights`: not negative, some positive (UserError); a source with weight
  /// 0 is never drawn.
  Mixture(const std::vector<double>& weights, uint64_t seed);

  /// The source of row `row` of all lanes together.
  int draw(int64_t row) const;

 private:
  std::vector<uint64_t> ends_;  // Source i: below ends_[i], of 2^64.
  uint64_t shift_;
};

}  // namespace titan
