// SPDX-License-Identifier: BSD-3-Clause
// The five behaviors, as NormalizedString::split of `tokenizers` has them.
#include "core/tokenizer/pieces.h"

#include <algorithm>

namespace titan {
namespace {

void merge_contiguous(std::vector<MatchSpan>& spans) {
  size_t size = 0;
  for (const MatchSpan& span : spans) {
    if (size > 0 && spans[size - 1].is_match == span.is_match)
      spans[size - 1].end = span.end;
    else
      spans[size++] = span;
  }
  spans.resize(size);
}

// A match joins the part before it, unless that part was a match itself.
void merge_with_previous(std::vector<MatchSpan>& spans) {
  size_t size = 0;
  bool was_match = false;
  for (const MatchSpan span : spans) {
    if (span.is_match && !was_match && size > 0)
      spans[size - 1].end = span.end;
    else
      spans[size++] = span;
    was_match = span.is_match;
  }
  spans.resize(size);
}

// The mirror image of merge_with_previous.
void merge_with_next(std::vector<MatchSpan>& spans) {
  std::vector<MatchSpan> merged;
  bool was_match = false;
  for (auto span = spans.rbegin(); span != spans.rend(); ++span) {
    if (span->is_match && !was_match && !merged.empty())
      merged.back().begin = span->begin;
    else
      merged.push_back(*span);
    was_match = span->is_match;
  }
  spans.assign(merged.rbegin(), merged.rend());
}

}  // namespace

void PieceList::start(std::string_view text, bool is_at_start) {
  pieces_.assign(1, {text, is_at_start});
  if (text.empty()) pieces_.clear();
  written_.clear();
}

void PieceList::append_part(const Piece& piece, size_t begin, size_t end) {
  if (begin == end) return;
  next_.push_back(
      {piece.text.substr(begin, end - begin), piece.is_at_start && begin == 0});
}

void PieceList::append_parts(const Piece& piece, SplitBehavior behavior) {
  if (behavior == SplitBehavior::kContiguous) merge_contiguous(spans_);
  if (behavior == SplitBehavior::kMergedWithPrevious)
    merge_with_previous(spans_);
  if (behavior == SplitBehavior::kMergedWithNext) merge_with_next(spans_);
  for (const MatchSpan& span : spans_)
    if (behavior != SplitBehavior::kRemoved || !span.is_match)
      append_part(piece, span.begin, span.end);
}

}  // namespace titan
