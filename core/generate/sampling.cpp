// SPDX-License-Identifier: BSD-3-Clause
#include "core/generate/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <ATen/ATen.h>

#include <titan/error.h>

#include "core/module/philox.h"

namespace titan::generate {
namespace {

// Likeliest first; equal scores by id, so that the order is total.
std::vector<int64_t> order_of(const std::vector<double>& scores) {
  std::vector<int64_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return scores[static_cast<size_t>(a)] > scores[static_cast<size_t>(b)];
  });
  return order;
}

double uniform(const SamplingOptions& options, int64_t position) {
  const auto index = static_cast<uint64_t>(position);
  const auto bits =
      module::philox4x32({static_cast<uint32_t>(index),
                          static_cast<uint32_t>(index >> 32),
                          static_cast<uint32_t>(options.request),
                          static_cast<uint32_t>(options.request >> 32)},
                         {static_cast<uint32_t>(options.seed),
                          static_cast<uint32_t>(options.seed >> 32)});
  return module::uniform_open(bits[0], bits[1]);
}

}  // namespace

void check_options(const SamplingOptions& options) {
  TITAN_USER_CHECK(options.max_tokens >= 1,
                   "[generate.max_tokens] expected at least 1, got ",
                   options.max_tokens);
  TITAN_USER_CHECK(
      std::isfinite(options.temperature) && options.temperature >= 0,
      "[generate.temperature] expected a non-negative number, "
      "got ",
      options.temperature);
  TITAN_USER_CHECK(options.top_k >= 0,
                   "[generate.top_k] expected a non-negative number, got ",
                   options.top_k);
  TITAN_USER_CHECK(options.top_p > 0 && options.top_p <= 1,
                   "[generate.top_p] expected a number in (0, 1], got ",
                   options.top_p);
}

int64_t sample(const at::Tensor& logits_V,
               const SamplingOptions& options,
               int64_t position) {
  const at::Tensor scores_V = logits_V.to(at::kDouble).contiguous();
  const double* data = scores_V.const_data_ptr<double>();
  std::vector<double> scores(data, data + scores_V.numel());
  for (double score : scores)
    TITAN_USER_CHECK(!std::isnan(score),
                     "[generate] logits: expected numbers, got NaN. The "
                     "weights are not a trained model's.");
  const std::vector<int64_t> order = order_of(scores);
  if (options.temperature == 0.0) return order.front();

  size_t kept = order.size();
  if (options.top_k > 0)
    kept = std::min(kept, static_cast<size_t>(options.top_k));
  const double best = scores[static_cast<size_t>(order.front())];
  std::vector<double> weights(kept);
  double total = 0;
  for (size_t i = 0; i < kept; ++i) {
    weights[i] = std::exp((scores[static_cast<size_t>(order[i])] - best) /
                          options.temperature);
    total += weights[i];
  }
  if (options.top_p < 1.0) {
    // The smallest set whose share reaches top_p; at least one token.
    double share = 0;
    size_t needed = 0;
    while (needed < kept && share < options.top_p * total)
      share += weights[needed++];
    kept = std::max<size_t>(1, needed);
    total = share;
  }
  double left = uniform(options, position) * total;
  for (size_t i = 0; i < kept; ++i) {
    left -= weights[i];
    if (left <= 0) return order[i];
  }
  return order[kept - 1];
}

}  // namespace titan::generate
