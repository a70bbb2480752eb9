// SPDX-License-Identifier: BSD-3-Clause
// Documents of a call from cu_seqlens.
#include "plugins/kernels/attention/problem.h"

namespace titan::kernels::attention {

std::vector<Document> documents_of(TensorView cu_seqlens,
                                   int64_t num_queries,
                                   int64_t num_keys) {
  if (num_queries == 0) return {};
  if (!cu_seqlens.defined() || num_queries != num_keys) {
    TITAN_CHECK(!cu_seqlens.defined() || cu_seqlens.numel() <= 2,
                "[titan.attention/1] cu_seqlens: expected one document when k "
                "is longer than q, got ",
                cu_seqlens.numel() - 1);
    return {{0, num_queries, 0, num_keys}};
  }
  const auto* bounds = cu_seqlens.data<const int32_t>();
  const int64_t count = cu_seqlens.numel() - 1;
  TITAN_CHECK(count >= 0 && bounds[0] == 0 && bounds[count] == num_queries,
              "[titan.attention/1] cu_seqlens: expected 0 to ",
              num_queries,
              ", got ",
              count >= 0 ? bounds[0] : -1,
              " to ",
              count >= 0 ? bounds[count] : -1);
  std::vector<Document> documents;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t begin = bounds[i], length = bounds[i + 1] - begin;
    TITAN_CHECK(length >= 0,
                "[titan.attention/1] cu_seqlens: expected ascending numbers, "
                "got ",
                begin,
                " before ",
                bounds[i + 1]);
    if (length > 0) documents.push_back({begin, length, begin, length});
  }
  return documents;
}

}  // namespace titan::kernels::attention
