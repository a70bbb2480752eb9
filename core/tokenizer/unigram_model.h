// SPDX-License-Identifier: BSD-3-Clause
// Unigram: the tokens whose scores add up to most (Viterbi), as SentencePiece
// and `tokenizers` compute it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/tokenizer/prefix_trie.h"
#include "core/tokenizer/token_model.h"

namespace titan {

/// A Unigram model as its file describes it: the position is the id.
struct UnigramFile {
  struct Token {
    std::string text;
    double score;
    bool is_found_in_text = true;  ///< Not control, unknown or byte tokens.
    bool sets_lowest = true;  ///< Counts for the score of unknown characters.
  };
  std::vector<Token> tokens;
  std::optional<int32_t> unk_id;
  bool byte_fallback = false;
  /// Scores add up in float32 and unknown text is spelled character by
  /// character, as SentencePiece does; else as `tokenizers`.
  bool is_sentencepiece = false;
};

class UnigramModel final : public TokenModel {
 public:
  explicit UnigramModel(const UnigramFile& file);
  void append_ids(std::string_view piece,
                  ModelScratch& scratch,
                  std::vector<int32_t>& ids) const override;

 private:
  void find_best_path(std::string_view piece,
                      std::vector<ModelScratch::PathNode>& path) const;
  void append_unknown(std::string_view text, std::vector<int32_t>& ids) const;
  int32_t unknown() const;

  PrefixTrie trie_;
  std::vector<double> scores_;
  double unknown_score_;
  std::array<int32_t, 256> byte_ids_;
  std::optional<int32_t> unk_id_;
  bool byte_fallback_;
  bool is_sentencepiece_;
};

}  // namespace titan
