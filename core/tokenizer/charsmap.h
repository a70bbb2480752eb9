// SPDX-License-Identifier: BSD-3-Clause
// SentencePiece's compiled character map: a double-array trie from byte strings
// to replacements. `tokenizers` (Precompiled) and SentencePiece itself apply
// the same map by different rules; both are here.
//
// Layout: u32 (little endian) size of the trie in bytes | trie units, u32 each
// | replacements, each ended by NUL. Unit bits as in Darts-clone: 31..10
// offset, 9 offset is shifted by 8, 8 has leaf, 7..0 label; a leaf is
// 0x80000000 | index of the replacement.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/tokenizer/base64.h"

namespace titan {

/// Immutable; any thread may use it.
class Charsmap {
 public:
  /// A map that changes nothing.
  Charsmap() = default;
  /// UserError (tag `where`): the blob is cut off or its parts do not fit.
  Charsmap(std::string blob, const std::string& where);

  /// As `tokenizers`: grapheme by grapheme where it is shorter than 6 bytes,
  /// else character by character; the shortest match of each decides.
  std::string normalize_graphemes(std::string_view text) const;

  /// As SentencePiece: the replacement of the longest match at the start of
  /// `text` (not empty) and the bytes it takes; a character that is not in the
  /// map stands for itself.
  std::pair<std::string_view, size_t> longest_prefix(
      std::string_view text) const;

 private:
  struct Match {
    size_t length = 0;  // 0: none.
    size_t index = 0;   // Of the replacement.
  };
  Match find(std::string_view key, bool longest) const;
  std::string_view replacement(size_t index) const;
  void append_part(std::string_view part, std::string& out) const;

  std::vector<uint32_t> units_;
  std::string replacements_;
};

}  // namespace titan
