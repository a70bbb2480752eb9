// SPDX-License-Identifier: BSD-3-Clause
// All tokens that begin a text, shortest first: the inner loop of Unigram.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace titan {

/// A trie laid out so that the children of a node lie side by side, sorted.
class PrefixTrie {
 public:
  /// `tokens`: text and id; the last id of a text counts, empty texts do not.
  explicit PrefixTrie(std::vector<std::pair<std::string, int32_t>> tokens);

  /// Calls emit(length, id) for each token that is a prefix of `text`.
  template <typename Emit>
  void for_each_prefix(std::string_view text, Emit emit) const {
    uint32_t node = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      node = child(node, static_cast<unsigned char>(text[i]));
      if (node == 0) return;
      if (nodes_[node].id >= 0) emit(i + 1, nodes_[node].id);
    }
  }

 private:
  struct Node {
    uint32_t first_child = 0;
    uint16_t num_children = 0;
    uint8_t label = 0;
    int32_t id = -1;
  };

  // 0, the root, where there is none.
  uint32_t child(uint32_t node, uint8_t label) const {
    const Node& parent = nodes_[node];
    const auto begin = nodes_.begin() + parent.first_child;
    const auto end = begin + parent.num_children;
    const auto found =
        std::lower_bound(begin, end, label, [](const Node& a, uint8_t wanted) {
          return a.label < wanted;
        });
    if (found == end || found->label != label) return 0;
    return static_cast<uint32_t>(found - nodes_.begin());
  }

  std::vector<Node> nodes_;
};

}  // namespace titan
