// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/packer.h"

#include <catch2/catch.hpp>

namespace {

using Ids = std::vector<int32_t>;
using Longs = std::vector<int64_t>;
using titan::kNoTarget;

titan::InMemoryTokenStore store_of(const std::vector<Ids>& documents) {
  titan::InMemoryTokenStore store;
  for (const Ids& ids : documents) store.add_document(ids);
  return store;
}

titan::Microbatch pack(const titan::TokenStore& store,
                       int64_t seq_len,
                       const Longs& rows) {
  titan::Packer packer(store, seq_len);
  titan::Microbatch batch;
  titan::begin_batch(batch, seq_len * static_cast<int64_t>(rows.size()));
  for (size_t slot = 0; slot < rows.size(); ++slot)
    packer.pack_row(rows[slot], static_cast<int64_t>(slot), batch);
  return batch;
}

}  // namespace

// R.9 of the reference: [a b c], [d e] in a row of five.
TEST_CASE("two documents share a row and restart positions", "[unit]") {
  const auto store = store_of({{1, 2, 3}, {4, 5}});
  const titan::Microbatch batch = pack(store, 5, {0});
  CHECK(batch.positions == Ids{0, 1, 2, 0, 1});
  CHECK(batch.tokens == Longs{1, 2, 3, 4, 5});
  CHECK(batch.labels == Longs{2, 3, kNoTarget, 5, kNoTarget});
  CHECK(batch.loss_weight == std::vector<float>{1, 1, 0, 1, 0});
  CHECK(batch.doc_id == Ids{0, 0, 0, 1, 1});
  CHECK(batch.cu_seqlens == Ids{0, 3, 5});
  CHECK(batch.n_valid == 3);
}

TEST_CASE("a long document goes on in the next row and loses no target",
          "[unit]") {
  const auto store = store_of({{1, 2, 3, 4, 5, 6, 7}});
  const titan::Microbatch batch = pack(store, 3, {0, 1, 2});
  CHECK(batch.tokens == Longs{1, 2, 3, 4, 5, 6, 7, 0, 0});
  CHECK(batch.labels ==
        Longs{2, 3, 4, 5, 6, 7, kNoTarget, kNoTarget, kNoTarget});
  CHECK(batch.positions == Ids{0, 1, 2, 0, 1, 2, 0, 0, 1});
  CHECK(batch.doc_id == Ids{0, 0, 0, 1, 1, 1, 2, 3, 3});
  CHECK(batch.cu_seqlens == Ids{0, 3, 6, 7, 9});
  CHECK(batch.n_valid == 6);
}

TEST_CASE("a document that ends with its row has no target there", "[unit]") {
  const auto store = store_of({{1, 2}, {3}, {4, 5, 6}});
  const titan::Microbatch batch = pack(store, 2, {0, 1, 2});
  CHECK(batch.labels == Longs{2, kNoTarget, kNoTarget, 5, 6, kNoTarget});
  CHECK(batch.cu_seqlens == Ids{0, 2, 3, 4, 6});
  CHECK(batch.n_valid == 3);
}

TEST_CASE("a batch is rewritten whole when its memory is used again",
          "[unit]") {
  const auto store = store_of({{1, 2, 3, 4, 5}});
  titan::Packer packer(store, 4);
  CHECK(packer.num_full_rows() == 1);
  CHECK(packer.num_rows() == 2);
  titan::Microbatch batch;
  titan::begin_batch(batch, 4);
  packer.pack_row(0, 0, batch);
  titan::begin_batch(batch, 4);
  packer.pad_row(0, batch);
  CHECK(batch.tokens == Longs{0, 0, 0, 0});
  CHECK(batch.labels == Longs(4, kNoTarget));
  CHECK(batch.loss_weight == std::vector<float>(4, 0));
  CHECK(batch.cu_seqlens == Ids{0, 4});
  CHECK(batch.n_valid == 0);
}
