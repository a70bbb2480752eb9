// SPDX-License-Identifier: BSD-3-Clause
// The tokenizer of GPT-2, Llama 3, DeepSeek and many others: splitting by
// patterns, then BPE over the bytes of each piece. The same ids as
// pipeline_tokenizer.h gives for such files, without a string per piece.
#pragma once

#include <string>
#include <vector>

#include "core/tokenizer/bpe.h"
#include "core/tokenizer/text_tokenizer.h"
#include "core/tokenizer/word_scanner.h"

namespace titan {

/// A byte-level BPE tokenizer as its file describes it.
struct ByteLevelFile {
  struct Token {
    std::string bytes;
    int32_t id;
    bool is_found_in_text;  ///< Not one whose text is outside the alphabet.
  };
  struct Merge {
    int32_t left;
    int32_t right;
    uint32_t rank;
    int32_t merged;
  };
  std::string name;  ///< For messages.
  std::vector<Token> tokens;
  std::vector<Merge> merges;
  std::vector<std::string> patterns;  ///< Applied one after the other.
  bool ignore_merges = false;
};

class ByteLevelBpe final : public TextTokenizer {
 public:
  /// UserError: the vocabulary lacks a byte, or a pattern is refused.
  ByteLevelBpe(const ByteLevelFile& file, TokenizerFrame frame);

  std::string decode(std::span<const int32_t> ids,
                     bool skip_special) const override;
  int64_t vocab_size() const override;
  std::optional<int32_t> token_id(std::string_view token) const override;

 protected:
  void append_section(std::string_view text,
                      bool is_at_start,
                      Scratch& scratch,
                      std::vector<int32_t>& ids) const override;

 private:
  void append_piece(std::string_view piece,
                    Scratch& scratch,
                    std::vector<int32_t>& ids) const;

  TokenTable tokens_;  // Bytes, not the alphabet's characters.
  std::vector<SplitPattern> patterns_;
  std::optional<WordScanner> scanner_;  // In place of the only pattern.
  Bpe bpe_;
};

}  // namespace titan
