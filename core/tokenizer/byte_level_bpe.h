// SPDX-License-Identifier: BSD-3-Clause
// The tokenizer of GPT-2, Llama 3, DeepSeek and many others: added tokens,
// then splitting by patterns, then BPE over the bytes of each piece.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/tokenizer/added_tokens.h"
#include "core/tokenizer/bpe.h"
#include "core/tokenizer/split_pattern.h"
#include "core/tokenizer/tokenizer.h"
#include "core/tokenizer/tokenizer_file.h"

namespace titan {

class ByteLevelBpe final : public Tokenizer {
 public:
  /// UserError: the vocabulary lacks a byte, or a pattern is refused.
  explicit ByteLevelBpe(const TokenizerFile& file);
  ~ByteLevelBpe() override;

  std::vector<int32_t> encode_with_template(
      std::string_view text) const override;
  std::string decode(std::span<const int32_t> ids,
                     bool skip_special) const override;
  int64_t vocab_size() const override;
  std::optional<int32_t> token_id(std::string_view token) const override;
  bool accepts_any_bytes() const override { return false; }

 protected:
  void append_ids(std::string_view text,
                  std::vector<int32_t>& ids) const override;

 private:
  struct Scratch;
  struct Token {
    std::string bytes;
    bool exists = false;
    bool special = false;
  };

  std::unique_ptr<Scratch> take_scratch() const;
  void append_text(std::string_view text,
                   Scratch& scratch,
                   std::vector<int32_t>& ids) const;
  void append_piece(std::string_view piece,
                    Scratch& scratch,
                    std::vector<int32_t>& ids) const;

  std::vector<Token> tokens_;  // By id.
  Vocabulary ids_by_content_;
  AddedTokenMatcher raw_matcher_;
  AddedTokenMatcher normalized_matcher_;
  std::vector<SplitPattern> patterns_;
  Bpe bpe_;
  std::vector<int32_t> template_before_;
  std::vector<int32_t> template_after_;

  // Threads borrow a scratch for one text, so its word cache stays warm.
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Scratch>> idle_;
};

}  // namespace titan
