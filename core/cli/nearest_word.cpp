// SPDX-License-Identifier: BSD-3-Clause
// Edit distance (insert, delete, replace, swap of neighbours) over short words.
#include "core/cli/nearest_word.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace titan::cli {
namespace {

size_t edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the table: swaps look two rows back.
  std::vector<size_t> before(b.size() + 1), above(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<std::string> nearest_word(std::string_view word,
                                        std::span<const std::string> known) {
  std::optional<std::string> nearest;
  size_t fewest = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const size_t edits = edit_distance(word, candidate);
    if (edits < fewest) {
      fewest = edits;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace titan::cli
