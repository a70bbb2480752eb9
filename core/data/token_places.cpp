// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/token_places.h"

#include <titan/text.h>

#include "core/chat/unicode_text.h"
#include "core/data/record.h"

namespace titan {
std::vector<chat::TextRange> find_token_places(const Tokenizer& tokenizer,
                                               std::span<const int32_t> ids,
                                               std::string_view text) {
  std::vector<chat::TextRange> places;
  places.reserve(ids.size());
  size_t at = 0;
  for (const int32_t& id : ids) {
    const std::string piece = tokenizer.decode({&id, 1});
    const size_t begin = at;
    // Alone, the first token of a word may decode without the space before
    // it, and special tokens may have swallowed what is around them.
    while (!text.substr(at).starts_with(piece) && at < text.size() &&
           chat::is_ascii_space(text[at]))
      ++at;
    if (!text.substr(at).starts_with(piece))
      throw BadRecord(titan::text(
          "the tokens' texts are not the text, so no mask can be made: token ",
          id,
          " at byte ",
          at,
          ". Use a tokenizer that keeps the text as it is"));
    at += piece.size();
    places.push_back({begin, at});
  }
  while (at < text.size() && chat::is_ascii_space(text[at])) ++at;
  if (at != text.size())
    throw BadRecord(titan::text("the tokens end before the text does, at byte ",
                                at,
                                " of ",
                                text.size()));
  if (!places.empty()) places.back().end = at;
  return places;
}

bool is_special_token(const Tokenizer& tokenizer, int32_t id) {
  const std::span<const int32_t> one(&id, 1);
  return !tokenizer.decode(one).empty() &&
         tokenizer.decode(one, /*skip_special=*/true).empty();
}

}  // namespace titan
