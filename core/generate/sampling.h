// SPDX-License-Identifier: BSD-3-Clause
// From logits to a token: temperature, top-k, top-p. The random number is a
// function of (seed, request, position), so a sample repeats under any
// batching.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace titan::generate {

struct SamplingOptions {
  int64_t max_tokens = 128;
  double temperature = 1.0;  // 0 = greedy
  int64_t top_k = 0;         // 0 = all
  double top_p = 1.0;        // 1 = all
  uint64_t seed = 0;
  uint64_t request = 0;
};

/// UserError for values outside their range.
void check_options(const SamplingOptions& options);

/// logits_V: scores of the next token, any float dtype. Ties go to the lower
/// id. UserError when a score is NaN.
int64_t sample(const at::Tensor& logits_V,
               const SamplingOptions& options,
               int64_t position);

}  // namespace titan::generate
