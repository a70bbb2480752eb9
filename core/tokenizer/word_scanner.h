// SPDX-License-Identifier: BSD-3-Clause
// The split patterns of GPT-2, Llama 3, cl100k and Qwen2 as a scanner written
// by hand: the same pieces as PCRE2 gives (word_scanner_test.cpp holds them
// against each other), several times faster (bench/results/tokenizer.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace titan {

/// Classes of a character, as bits.
enum CharacterClass : uint8_t {
  kOther = 0,
  kLetter = 1,   // \p{L}
  kNumber = 2,   // \p{N}
  kSpace = 4,    // \s
  kNewline = 8,  // \r or \n; kSpace too
};

/// Immutable; any thread may use it.
class WordScanner {
 public:
  /// Nothing where `pattern` is not one of the known ones, letter by letter.
  static std::optional<WordScanner> for_pattern(std::string_view pattern);

  /// Length in bytes of the piece at the start of `text` (well-formed UTF-8,
  /// not empty). Pieces follow each other without gaps.
  size_t piece_length(std::string_view text) const {
    return is_gpt2_ ? gpt2_length(text) : llama_length(text);
  }

 private:
  size_t gpt2_length(std::string_view text) const;
  size_t llama_length(std::string_view text) const;
  size_t space_length(std::string_view text) const;

  bool is_gpt2_ = false;
  bool takes_last_space_first_ = false;  // cl100k: \s+ at the very end.
  int most_digits_ = 3;
};

}  // namespace titan
