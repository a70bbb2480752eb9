// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/added_tokens.h"

#include <algorithm>

#include "core/tokenizer/unicode_classes.h"
#include "core/tokenizer/utf8.h"

namespace titan {
namespace {

size_t previous_character(std::string_view text, size_t end) {
  do --end;
  while (end > 0 && is_utf8_continuation(text[end]));
  return end;
}

bool ends_with_word(std::string_view text) {
  if (text.empty()) return false;
  size_t position = previous_character(text, text.size());
  return is_word_character(next_code_point(text, position));
}

bool starts_with_word(std::string_view text) {
  size_t position = 0;
  return !text.empty() && is_word_character(next_code_point(text, position));
}

size_t start_of_trailing_space(std::string_view text) {
  size_t begin = text.size();
  while (begin > 0) {
    const size_t start = previous_character(text, begin);
    size_t position = start;
    if (!is_white_space(next_code_point(text, position))) break;
    begin = start;
  }
  return begin;
}

size_t length_of_leading_space(std::string_view text) {
  size_t end = 0;
  while (end < text.size()) {
    size_t position = end;
    if (!is_white_space(next_code_point(text, position))) break;
    end = position;
  }
  return end;
}

}  // namespace

AddedTokenMatcher::AddedTokenMatcher(std::vector<AddedToken> tokens)
    : tokens_(std::move(tokens)) {
  std::stable_sort(tokens_.begin(), tokens_.end(), [](auto& a, auto& b) {
    return a.content.size() > b.content.size();
  });
  for (const AddedToken& token : tokens_)
    is_first_byte_[static_cast<unsigned char>(token.content[0])] = true;
}

size_t AddedTokenMatcher::find_first_byte(std::string_view text,
                                          size_t position) const {
  while (position < text.size() &&
         !is_first_byte_[static_cast<unsigned char>(text[position])])
    ++position;
  return position;
}

const AddedToken* AddedTokenMatcher::match_at(std::string_view text,
                                              size_t position) const {
  const std::string_view rest = text.substr(position);
  for (const AddedToken& token : tokens_)
    if (rest.starts_with(token.content)) return &token;
  return nullptr;
}

void AddedTokenMatcher::append_spans(std::string_view text,
                                     std::vector<TextSpan>& spans) const {
  size_t done = 0;
  size_t at = tokens_.empty() ? text.size() : find_first_byte(text, 0);
  while (at < text.size()) {
    const AddedToken* token = match_at(text, at);
    if (!token) {
      at = find_first_byte(text, at + 1);
      continue;
    }
    size_t start = at;
    size_t stop = at + token->content.size();
    at = find_first_byte(text, stop);
    if (token->single_word && (ends_with_word(text.substr(0, start)) ||
                               starts_with_word(text.substr(stop))))
      continue;
    // The token before may have taken these spaces already.
    if (token->lstrip)
      start = std::max(start_of_trailing_space(text.substr(0, start)), done);
    if (token->rstrip) stop += length_of_leading_space(text.substr(stop));
    if (done < start) spans.push_back({-1, text.substr(done, start - done)});
    // Empty where the token before took this one's (white space) along.
    if (start < stop)
      spans.push_back({token->id, text.substr(start, stop - start)});
    done = stop;
  }
  if (done < text.size()) spans.push_back({-1, text.substr(done)});
}

}  // namespace titan
