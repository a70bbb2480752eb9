// SPDX-License-Identifier: BSD-3-Clause
// Added and special tokens: found in the text before any pre-tokenizer sees
// it, with the rules of `tokenizers` (added_vocabulary.rs), among them those
// that look odd: after a rejected match the search goes on behind it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/tokenizer/prefix_trie.h"

namespace titan {

struct AddedToken {
  int32_t id = 0;
  std::string content;
  bool single_word = false;  ///< Not inside a word.
  bool lstrip = false;       ///< Takes the white space before it along.
  bool rstrip = false;       ///< Takes the white space behind it along.
  bool normalized = false;   ///< Searched in the normalised text.
  bool special = false;      ///< Left out by decode(skip_special).
  bool is_written = true;    ///< Found where a text spells it.
};

/// A stretch of text: an added token, or (id < 0) text for the model.
struct TextSpan {
  int32_t id;
  std::string_view text;
};

/// Finds a set of added tokens, leftmost and longest first. Immutable.
class AddedTokenMatcher {
 public:
  explicit AddedTokenMatcher(std::vector<AddedToken> tokens);

  /// Appends the spans of `text` (well-formed UTF-8); text spans are not empty.
  void append_spans(std::string_view text, std::vector<TextSpan>& spans) const;

 private:
  struct Match {
    const AddedToken* token = nullptr;
    size_t length = 0;
  };
  Match match_at(std::string_view text, size_t position) const;
  size_t find_first_byte(std::string_view text, size_t position) const;

  std::vector<AddedToken> tokens_;
  PrefixTrie trie_;  // To positions in tokens_.
  std::array<bool, 256> is_first_byte_{};
  int only_first_byte_ = -1;  // Where all tokens begin with the same byte.
};

}  // namespace titan
