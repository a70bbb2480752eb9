// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/row.h"

#include <algorithm>

namespace titan {
namespace {

constexpr auto kNoLabel = static_cast<int32_t>(kNoTarget);

// Makes [begin, end) of the batch one segment: positions, doc_id, cu_seqlens.
void add_segment(int64_t begin, int64_t end, Microbatch& batch) {
  const auto id = static_cast<int32_t>(batch.cu_seqlens.size()) - 1;
  for (int64_t t = begin; t < end; ++t) {
    batch.doc_id[t] = id;
    batch.positions[t] = static_cast<int32_t>(t - begin);
  }
  batch.cu_seqlens.push_back(static_cast<int32_t>(end));
}

}  // namespace

void append_segment(const Sample& sample,
                    int64_t begin,
                    int64_t end,
                    Row& row) {
  const auto size = static_cast<int64_t>(sample.ids.size());
  for (int64_t i = begin; i < end; ++i) {
    const bool has_target =
        i + 1 < size && (sample.is_target.empty() || sample.is_target[i + 1]);
    row.tokens.push_back(sample.ids[i]);
    row.labels.push_back(has_target ? sample.ids[i + 1] : kNoLabel);
    row.n_valid += has_target ? 1 : 0;
  }
  row.segment_ends.push_back(static_cast<int32_t>(row.tokens.size()));
}

void begin_batch(Microbatch& batch, int64_t num_tokens) {
  batch.tokens.resize(num_tokens);
  batch.labels.resize(num_tokens);
  batch.loss_weight.resize(num_tokens);
  batch.doc_id.resize(num_tokens);
  batch.positions.resize(num_tokens);
  batch.global_index.resize(num_tokens);
  batch.cu_seqlens.assign(1, 0);
  batch.n_valid = 0;
}

void write_row(const Row& row,
               int64_t seq_len,
               int64_t slot,
               int64_t first_index,
               Microbatch& batch) {
  const int64_t base = slot * seq_len;
  for (int64_t t = 0; t < seq_len; ++t) {
    const bool is_token = t < row.size();
    const int32_t label = is_token ? row.labels[t] : kNoLabel;
    batch.tokens[base + t] = is_token ? row.tokens[t] : 0;
    batch.labels[base + t] = label;
    batch.loss_weight[base + t] = label == kNoLabel ? 0 : 1;
    batch.global_index[base + t] = first_index + t;
  }
  int64_t begin = 0;
  for (const int32_t end : row.segment_ends) {
    add_segment(base + begin, base + end, batch);
    begin = end;
  }
  if (begin < seq_len) add_segment(base + begin, base + seq_len, batch);
  batch.n_valid += row.n_valid;
}

}  // namespace titan
