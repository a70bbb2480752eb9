// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/bpe.h"

#include <optional>
#include <random>

#include <catch2/catch.hpp>

namespace {

using Ids = std::vector<int32_t>;

struct Rule {
  int32_t left, right, merged;
};

// The definition, word for word: quadratic, no tables.
Ids merge_plainly(Ids symbols, const std::vector<Rule>& rules) {
  for (;;) {
    std::optional<std::pair<size_t, size_t>> best;  // (rank, position)
    for (size_t i = 0; i + 1 < symbols.size(); ++i)
      for (size_t rank = 0; rank < rules.size(); ++rank)
        if (rules[rank].left == symbols[i] &&
            rules[rank].right == symbols[i + 1] &&
            (!best || std::pair(rank, i) < *best))
          best = {rank, i};
    if (!best) return symbols;
    symbols[best->second] = rules[best->first].merged;
    symbols.erase(symbols.begin() + best->second + 1);
  }
}

}  // namespace

TEST_CASE("scan and heap merge as the definition says, seed 3", "[unit]") {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<Rule> rules;
    titan::MergeTable table(20);
    while (rules.size() < 20) {
      const auto num = static_cast<int32_t>(4 + rules.size());
      const auto pick = [&] {
        const auto i = static_cast<int32_t>(random() % num);
        return i < 4 ? 'a' + i : 252 + i;
      };
      const Rule rule{pick(), pick(), 256 + static_cast<int>(rules.size())};
      if (table.find(rule.left, rule.right)) continue;
      table.insert(rule.left,
                   rule.right,
                   {static_cast<uint32_t>(rules.size()), rule.merged});
      rules.push_back(rule);
    }
    std::array<int32_t, 256> bytes;
    for (int byte = 0; byte < 256; ++byte) bytes[byte] = byte;
    const titan::Bpe bpe({}, std::move(table), bytes, false);
    titan::Bpe::Scratch scratch;
    for (size_t length = 1; length < 80; ++length) {
      std::string piece;
      while (piece.size() < length)
        piece.push_back(static_cast<char>('a' + random() % 4));
      Ids got;
      bpe.append_ids(piece, scratch, got);
      REQUIRE(got == merge_plainly(Ids(piece.begin(), piece.end()), rules));
    }
  }
}

TEST_CASE("a pair inserted twice takes the later merge", "[unit]") {
  titan::MergeTable table(4);
  table.insert(1, 2, {0, 10});
  table.insert(1, 2, {1, 11});
  REQUIRE(table.find(1, 2));
  CHECK(table.find(1, 2)->id == 11);
  CHECK_FALSE(table.find(2, 1));
}
