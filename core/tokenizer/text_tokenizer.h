// SPDX-License-Identifier: BSD-3-Clause
// What every tokenizer from a file does alike: it finds added tokens,
// normalises what is between them, and puts the template around. How a section
// of text becomes ids is the subclass' part (byte_level_bpe.h: the fast way of
// most models; pipeline_tokenizer.h: all others).
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/tokenizer/added_vocabulary.h"
#include "core/tokenizer/normalizer.h"
#include "core/tokenizer/pieces.h"
#include "core/tokenizer/post_processor.h"
#include "core/tokenizer/token_model.h"
#include "core/tokenizer/tokenizer.h"
#include "core/tokenizer/word_cache.h"

namespace titan {

/// What the files say apart from model and pre-tokenizer.
struct TokenizerFrame {
  std::vector<AddedToken> added_tokens;
  std::unique_ptr<Normalizer> normalizer;  ///< May be null.
  TokenTemplate around;
  SpecialTokens special;
};

class TextTokenizer : public Tokenizer {
 public:
  explicit TextTokenizer(TokenizerFrame frame);

  std::vector<int32_t> encode_with_template(
      std::string_view text) const override;
  bool accepts_any_bytes() const override { return false; }

 protected:
  /// One thread's working memory.
  struct Scratch {
    PieceList list;
    SplitPattern::Scratch regex;
    ModelScratch model;
    WordCache cache;
    std::vector<TextSpan> spans;
    std::vector<TextSpan> inner_spans;
    std::vector<std::string_view> pieces;
    std::vector<std::string_view> next_pieces;
  };

  void append_ids(std::string_view text, std::vector<int32_t>& ids) const final;
  /// Appends the ids of a section without added tokens (well-formed UTF-8, not
  /// empty). `is_at_start`: the input begins with it.
  virtual void append_section(std::string_view text,
                              bool is_at_start,
                              Scratch& scratch,
                              std::vector<int32_t>& ids) const = 0;

  const AddedVocabulary& added() const { return added_; }

 private:
  class Loan;
  void append_normalized(const TextSpan& span,
                         bool is_at_start,
                         Scratch& scratch,
                         std::vector<int32_t>& ids) const;

  std::unique_ptr<Normalizer> normalizer_;
  AddedVocabulary added_;
  TokenTemplate around_;

  // Threads borrow a scratch for one text, so its word cache stays warm.
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Scratch>> idle_;
};

}  // namespace titan
