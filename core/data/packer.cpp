// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/packer.h"

#include <algorithm>

namespace titan {
namespace {

// Makes [begin, end) of the batch one segment: positions, doc_id, cu_seqlens.
void add_segment(int64_t begin, int64_t end, Microbatch& batch) {
  const auto id = static_cast<int32_t>(batch.cu_seqlens.size()) - 1;
  for (int64_t t = begin; t < end; ++t) {
    batch.doc_id[t] = id;
    batch.positions[t] = static_cast<int32_t>(t - begin);
  }
  batch.cu_seqlens.push_back(static_cast<int32_t>(end));
}

void clear_target(int64_t t, Microbatch& batch) {
  batch.labels[t] = kNoTarget;
  batch.loss_weight[t] = 0;
}

void add_padding(int64_t begin, int64_t end, Microbatch& batch) {
  for (int64_t t = begin; t < end; ++t) {
    batch.tokens[t] = 0;
    clear_target(t, batch);
  }
  if (begin < end) add_segment(begin, end, batch);
}

}  // namespace

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

Packer::Packer(const TokenStore& tokens, int64_t seq_len)
    : tokens_(tokens), seq_len_(seq_len), ids_(seq_len + 1) {}

int64_t Packer::num_full_rows() const {
  return tokens_.num_tokens() / seq_len_;
}

int64_t Packer::num_rows() const {
  return (tokens_.num_tokens() + seq_len_ - 1) / seq_len_;
}

void Packer::pack_row(int64_t row, int64_t slot, Microbatch& batch) {
  const int64_t first = row * seq_len_;  // Position in the split.
  const int64_t base = slot * seq_len_;  // Position in the batch.
  const int64_t num_left = tokens_.num_tokens() - first;
  const int64_t size = std::min(seq_len_, num_left);
  const int64_t num_read = std::min(seq_len_ + 1, num_left);
  tokens_.read(first, {ids_.data(), static_cast<size_t>(num_read)});
  for (int64_t t = 0; t < size; ++t) {
    batch.tokens[base + t] = ids_[t];
    batch.labels[base + t] = ids_[t + 1];
    batch.loss_weight[base + t] = 1;
  }
  int64_t num_masked = 0;
  // The split's very last token has nothing ahead.
  if (num_read == size) {
    clear_target(base + size - 1, batch);
    ++num_masked;
  }
  starts_.clear();
  tokens_.append_document_starts(first + 1, first + size + 1, starts_);
  int64_t begin = 0;
  for (const int64_t start : starts_) {
    const int64_t end = start - first;
    clear_target(base + end - 1, batch);
    ++num_masked;
    if (end == size) break;  // The next document begins the next row.
    add_segment(base + begin, base + end, batch);
    begin = end;
  }
  add_segment(base + begin, base + size, batch);
  add_padding(base + size, base + seq_len_, batch);
  batch.n_valid += size - num_masked;
}

void Packer::pad_row(int64_t slot, Microbatch& batch) const {
  add_padding(slot * seq_len_, (slot + 1) * seq_len_, batch);
}

}  // namespace titan
