// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/token_store.h"

#include <catch2/catch.hpp>

#include <titan/error.h>

namespace {
using Ids = std::vector<int32_t>;
}

// DAT-08: a store of two bytes would turn 65536 into 0.
TEST_CASE("ids on both sides of 65536 are kept exactly", "[unit]") {
  const Ids ids = {0, 65535, 65536, 70000, 128000};
  for (const Ids& before : {Ids{}, Ids{1, 2, 65535}}) {
    titan::InMemoryTokenStore store;
    if (!before.empty()) store.add_document(before);
    store.add_document(ids);
    Ids got(ids.size());
    store.read(static_cast<int64_t>(before.size()), got);
    CHECK(got == ids);
    CHECK(store.max_token() == 128000);
  }
}

TEST_CASE("digest depends on tokens, order and boundaries", "[unit]") {
  const auto digest = [](const std::vector<Ids>& documents) {
    titan::InMemoryTokenStore store;
    for (const Ids& ids : documents) store.add_document(ids);
    return store.digest();
  };
  CHECK(digest({{1, 2}, {3}}) == digest({{1, 2}, {3}}));
  CHECK(digest({{1, 2}, {3}}) != digest({{1}, {2, 3}}));
  CHECK(digest({{1, 2}, {3}}) != digest({{1, 2, 3}}));
  CHECK(digest({{1, 2}}) != digest({{2, 1}}));
}

TEST_CASE("document starts are those of the range", "[unit]") {
  titan::InMemoryTokenStore store;
  for (const Ids& ids : {Ids{1, 2}, Ids{3}, Ids{4, 5, 6}})
    store.add_document(ids);
  std::vector<int64_t> starts;
  store.append_document_starts(1, 3, starts);
  CHECK(starts == std::vector<int64_t>{2});
  store.append_document_starts(0, 6, starts);
  CHECK(starts == std::vector<int64_t>{2, 0, 2, 3});
  Ids outside(2);
  CHECK_THROWS_AS(store.read(5, outside), titan::BugError);
}
