// SPDX-License-Identifier: BSD-3-Clause
// A text on its way through the pre-tokenizers: pieces that are views into the
// text, or into what a pre-tokenizer wrote.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/tokenizer/split_pattern.h"
#include "core/tokenizer/utf8.h"

namespace titan {

/// What becomes of the matches of a pattern (tokenizer.json: "behavior").
enum class SplitBehavior {
  kRemoved,
  kIsolated,
  kMergedWithPrevious,
  kMergedWithNext,
  kContiguous,
};

/// One thread's working memory.
class PieceList {
 public:
  struct Piece {
    std::string_view text;
    bool is_at_start;  ///< Begins where the whole input begins.
  };

  /// Begins anew with one piece; `text` must outlive the work on it.
  void start(std::string_view text, bool is_at_start);
  const std::vector<Piece>& pieces() const { return pieces_; }

  /// Replaces each piece by its parts as `find(text, spans)` finds and
  /// `behavior` keeps them. Empty parts vanish.
  template <typename Find>
  void split(SplitBehavior behavior, Find find) {
    next_.clear();
    for (const Piece& piece : pieces_) {
      spans_.clear();
      find(piece.text, spans_);
      append_parts(piece, behavior);
    }
    std::swap(pieces_, next_);
  }

  /// Replaces the text of each piece by `rewrite(piece)`, a std::string, where
  /// `changes(piece)` holds.
  template <typename Changes, typename Rewrite>
  void rewrite(Changes changes, Rewrite rewrite) {
    for (Piece& piece : pieces_)
      if (changes(piece)) piece.text = written_.emplace_back(rewrite(piece));
  }

  SplitPattern::Scratch& regex() { return regex_; }

 private:
  void append_parts(const Piece& piece, SplitBehavior behavior);
  void append_part(const Piece& piece, size_t begin, size_t end);

  std::vector<Piece> pieces_;
  std::vector<Piece> next_;
  std::vector<MatchSpan> spans_;
  std::deque<std::string> written_;
  SplitPattern::Scratch regex_;
};

/// Appends spans of `text` (well-formed UTF-8) where each character that
/// `is_match` takes is a match by itself, and what lies between is not.
template <typename IsMatch>
void append_character_matches(std::string_view text,
                              IsMatch is_match,
                              std::vector<MatchSpan>& spans) {
  size_t done = 0;
  for (size_t i = 0; i < text.size();) {
    const size_t begin = i;
    if (!is_match(next_code_point(text, i))) continue;
    if (done < begin) spans.push_back({done, begin, false});
    spans.push_back({begin, i, true});
    done = i;
  }
  if (done < text.size()) spans.push_back({done, text.size(), false});
}

}  // namespace titan
