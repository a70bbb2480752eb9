// SPDX-License-Identifier: BSD-3-Clause
// Token texts and ids, both ways.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace titan {

struct BytesHash {
  using is_transparent = void;
  size_t operator()(std::string_view bytes) const {
    return std::hash<std::string_view>()(bytes);
  }
};

/// Token bytes -> id.
using Vocabulary =
    std::unordered_map<std::string, int32_t, BytesHash, std::equal_to<>>;

class TokenTable {
 public:
  TokenTable() = default;
  TokenTable(TokenTable&&) = default;
  TokenTable& operator=(TokenTable&&) = default;

  /// False, and nothing changes, where the id is taken. A text that comes
  /// again is found by its last id.
  bool add(std::string_view token, int32_t id);

  std::optional<int32_t> find(std::string_view token) const;
  /// Null where no token has the id.
  const std::string* text_of(int32_t id) const;
  /// Number of different texts.
  size_t size() const { return ids_.size(); }
  /// One more than the largest id.
  size_t end() const { return texts_.size(); }

 private:
  Vocabulary ids_;
  std::vector<const std::string*> texts_;  // By id; the keys of ids_.
};

}  // namespace titan
