// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/added_tokens.h"

#include <algorithm>
#include <cstring>

#include "core/tokenizer/unicode_classes.h"
#include "core/tokenizer/utf8.h"

namespace titan {
namespace {

bool ends_with_word(std::string_view text) {
  if (text.empty()) return false;
  size_t position = previous_character(text, text.size());
  return is_word_character(next_code_point(text, position));
}

bool starts_with_word(std::string_view text) {
  size_t position = 0;
  return !text.empty() && is_word_character(next_code_point(text, position));
}

std::vector<std::pair<std::string, int32_t>> positions_of(
    const std::vector<AddedToken>& tokens) {
  std::vector<std::pair<std::string, int32_t>> positions;
  for (const AddedToken& token : tokens)
    positions.emplace_back(token.content,
                           static_cast<int32_t>(positions.size()));
  return positions;
}

}  // namespace

AddedTokenMatcher::AddedTokenMatcher(std::vector<AddedToken> tokens)
    : tokens_(std::move(tokens)), trie_(positions_of(tokens_)) {
  for (const AddedToken& token : tokens_)
    is_first_byte_[static_cast<unsigned char>(token.content[0])] = true;
  const auto first =
      std::find(is_first_byte_.begin(), is_first_byte_.end(), true);
  if (std::count(is_first_byte_.begin(), is_first_byte_.end(), true) == 1)
    only_first_byte_ = static_cast<int>(first - is_first_byte_.begin());
}

size_t AddedTokenMatcher::find_first_byte(std::string_view text,
                                          size_t position) const {
  if (only_first_byte_ >= 0) {
    const void* found = position < text.size()
                            ? std::memchr(text.data() + position,
                                          only_first_byte_,
                                          text.size() - position)
                            : nullptr;
    return found ? static_cast<size_t>(static_cast<const char*>(found) -
                                       text.data())
                 : text.size();
  }
  while (position < text.size() &&
         !is_first_byte_[static_cast<unsigned char>(text[position])])
    ++position;
  return position;
}

AddedTokenMatcher::Match AddedTokenMatcher::match_at(std::string_view text,
                                                     size_t position) const {
  Match match;
  trie_.for_each_prefix(
      text.substr(position), [&](size_t length, int32_t index) {
        match = {&tokens_[static_cast<size_t>(index)], length};
      });
  return match;
}

void AddedTokenMatcher::append_spans(std::string_view text,
                                     std::vector<TextSpan>& spans) const {
  size_t done = 0;
  size_t at = tokens_.empty() ? text.size() : find_first_byte(text, 0);
  while (at < text.size()) {
    const auto [token, length] = match_at(text, at);
    if (!token) {
      at = find_first_byte(text, at + 1);
      continue;
    }
    size_t start = at;
    size_t stop = at + length;
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
