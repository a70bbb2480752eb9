// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/prefix_trie.h"

namespace titan {
namespace {

// The tokens below a node, and how many bytes they share.
struct Range {
  size_t begin;
  size_t end;
  size_t depth;
  uint32_t node;
};

}  // namespace

PrefixTrie::PrefixTrie(std::vector<std::pair<std::string, int32_t>> tokens)
    : nodes_(1) {
  std::stable_sort(tokens.begin(), tokens.end(), [](auto& a, auto& b) {
    return a.first < b.first;
  });
  // Breadth first, so that siblings are neighbours.
  std::vector<Range> queue = {{0, tokens.size(), 0, 0}};
  for (size_t next = 0; next < queue.size(); ++next) {
    const Range range = queue[next];
    size_t at = range.begin;
    for (; at < range.end && tokens[at].first.size() == range.depth; ++at)
      if (range.depth > 0) nodes_[range.node].id = tokens[at].second;
    nodes_[range.node].first_child = static_cast<uint32_t>(nodes_.size());
    while (at < range.end) {
      const auto label = static_cast<uint8_t>(tokens[at].first[range.depth]);
      const size_t begin = at;
      while (at < range.end &&
             static_cast<uint8_t>(tokens[at].first[range.depth]) == label)
        ++at;
      queue.push_back(
          {begin, at, range.depth + 1, static_cast<uint32_t>(nodes_.size())});
      nodes_.push_back({0, 0, label, -1});
      ++nodes_[range.node].num_children;
    }
  }
}

}  // namespace titan
