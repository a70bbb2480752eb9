// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/charsmap.h"

#include <titan/error.h>

#include "core/tokenizer/unicode_text.h"
#include "core/tokenizer/utf8.h"

namespace titan {
namespace {

constexpr size_t kLongestGrapheme = 5;  // precompiled.rs: grapheme.len() < 6

uint32_t read_u32(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i)
    value |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[at + i]))
             << (8 * i);
  return value;
}

uint32_t offset_of(uint32_t unit) {
  return (unit >> 10) << ((unit & (1u << 9)) >> 6);
}

}  // namespace

Charsmap::Charsmap(std::string blob, const std::string& where) {
  if (blob.empty()) return;
  TITAN_USER_CHECK(blob.size() >= 4,
                   '[',
                   where,
                   "] character map: expected at least 4 bytes, got ",
                   blob.size());
  const size_t trie_bytes = read_u32(blob, 0);
  TITAN_USER_CHECK(
      trie_bytes % 4 == 0 && trie_bytes >= 4 && trie_bytes <= blob.size() - 4,
      '[',
      where,
      "] character map: size of the trie: expected a multiple of "
      "4 from 4 to ",
      blob.size() - 4,
      ", got ",
      trie_bytes);
  units_.reserve(trie_bytes / 4);
  for (size_t at = 4; at < trie_bytes + 4; at += 4)
    units_.push_back(read_u32(blob, at));
  replacements_ = blob.substr(trie_bytes + 4);
  const auto bad = find_invalid_utf8(replacements_);
  TITAN_USER_CHECK(!bad,
                   '[',
                   where,
                   "] character map: replacements are not UTF-8 at byte ",
                   bad.value_or(0));
}

// A hostile trie may point anywhere: each step is checked.
Charsmap::Match Charsmap::find(std::string_view key, bool longest) const {
  Match found;
  if (units_.empty()) return found;
  size_t position = offset_of(units_[0]);
  for (size_t i = 0; i < key.size(); ++i) {
    const auto byte = static_cast<unsigned char>(key[i]);
    if (byte == 0) break;
    position ^= byte;
    if (position >= units_.size()) break;
    const uint32_t unit = units_[position];
    if ((unit & (1u << 31 | 0xFF)) != byte) break;
    position ^= offset_of(unit);
    if ((unit >> 8 & 1) == 0) continue;
    if (position >= units_.size()) break;
    const size_t index = units_[position] & 0x7FFFFFFF;
    // Inside a character no replacement can start.
    if (index >= replacements_.size() ||
        is_utf8_continuation(replacements_[index]))
      break;
    found = {i + 1, index};
    if (!longest) break;
  }
  return found;
}

std::string_view Charsmap::replacement(size_t index) const {
  const std::string_view rest = std::string_view(replacements_).substr(index);
  return rest.substr(0, rest.find('\0'));
}

void Charsmap::append_part(std::string_view part, std::string& out) const {
  const Match match = find(part, /*longest=*/false);
  out.append(match.length ? replacement(match.index) : part);
}

std::string Charsmap::normalize_graphemes(std::string_view text) const {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::string_view grapheme = text.substr(0, grapheme_length(text));
    text.remove_prefix(grapheme.size());
    if (grapheme.size() <= kLongestGrapheme && find(grapheme, false).length) {
      append_part(grapheme, out);
      continue;
    }
    for (size_t i = 0; i < grapheme.size();) {
      size_t end = i;
      next_code_point(grapheme, end);
      append_part(grapheme.substr(i, end - i), out);
      i = end;
    }
  }
  return out;
}

std::pair<std::string_view, size_t> Charsmap::longest_prefix(
    std::string_view text) const {
  const Match match = find(text, /*longest=*/true);
  // A match that ends inside a character would leave ill-formed text.
  const bool is_whole =
      match.length == text.size() || !is_utf8_continuation(text[match.length]);
  if (match.length && is_whole) return {replacement(match.index), match.length};
  size_t end = 0;
  next_code_point(text, end);
  return {text.substr(0, end), end};
}

}  // namespace titan
