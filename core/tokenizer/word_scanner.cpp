// SPDX-License-Identifier: BSD-3-Clause
// Llama 3's alternatives, in the order in which they are tried:
//   1 (?i:'s|'t|'re|'ve|'m|'ll|'d)     4  ?[^\s\p{L}\p{N}]+[\r\n]*
//   2 [^\r\n\p{L}\p{N}]?\p{L}+         5 \s*[\r\n]+
//   3 \p{N}{1,3}                       6 \s+(?!\S)    7 \s+
// GPT-2's: 1 in lower case, ` ?\p{L}+`, ` ?\p{N}+`, 4 without the line ends, 6
// and 7. Classes are PCRE2's, so that both ways agree on every character.
#include "core/tokenizer/word_scanner.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "core/tokenizer/named_patterns.h"
#include "core/tokenizer/split_pattern.h"
#include "core/tokenizer/utf8.h"

namespace titan {
namespace {

constexpr uint32_t kNumCodePoints = 0x110000;

constexpr std::array<uint8_t, 128> make_ascii() {
  std::array<uint8_t, 128> classes{};
  for (int c = 'a'; c <= 'z'; ++c) classes[c] = kLetter;
  for (int c = 'A'; c <= 'Z'; ++c) classes[c] = kLetter;
  for (int c = '0'; c <= '9'; ++c) classes[c] = kNumber;
  for (const unsigned char c : {'\t', '\v', '\f', ' '}) classes[c] = kSpace;
  for (const unsigned char c : {'\r', '\n'}) classes[c] = kSpace | kNewline;
  return classes;
}

constexpr std::array<uint8_t, 128> kAscii = make_ascii();

// One byte per code point. Made on the first text beyond ASCII: 50 ms.
std::vector<uint8_t> make_classes() {
  std::string all;
  for (uint32_t c = 0x80; c < kNumCodePoints; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    append_utf8(all, c);
  }
  std::vector<uint8_t> classes(kNumCodePoints, kOther);
  const auto mark = [&](const char* pattern, uint8_t bit) {
    SplitPattern::Scratch scratch;
    std::vector<MatchSpan> spans;
    SplitPattern::from_pcre2(pattern, "[word scanner]")
        .append_matches(all, scratch, spans);
    for (const MatchSpan& span : spans)
      for (size_t i = span.begin; span.is_match && i < span.end;)
        classes[next_code_point(all, i)] |= bit;
  };
  mark("\\p{L}+", kLetter);
  mark("\\p{N}+", kNumber);
  mark("\\p{White_Space}+", kSpace);
  return classes;
}

uint8_t class_beyond_ascii(std::string_view text, size_t& position) {
  static const std::vector<uint8_t> classes = make_classes();
  return classes[next_code_point(text, position)];
}

// Class of the character at `position` (inside the text), and moves past it.
inline uint8_t take(std::string_view text, size_t& position) {
  const auto byte = static_cast<unsigned char>(text[position]);
  if (byte >= 0x80) return class_beyond_ascii(text, position);
  ++position;
  return kAscii[byte];
}

// End of the run of characters from `position` on that have a bit of `mask`.
inline size_t end_of_run(std::string_view text, size_t position, int mask) {
  while (position < text.size()) {
    size_t next = position;
    if (!(take(text, next) & mask)) break;
    position = next;
  }
  return position;
}

inline size_t end_of_other(std::string_view text, size_t position) {
  while (position < text.size()) {
    size_t next = position;
    if (take(text, next) & (kLetter | kNumber | kSpace)) break;
    position = next;
  }
  return position;
}

// Length of 's, 't, 're, 've, 'm, 'll or 'd at the start, else 0. In any case,
// s is also U+017F, the long s.
size_t contraction_length(std::string_view text, bool any_case) {
  if (text.size() < 2) return 0;
  const auto lower = [&](size_t i) -> char {
    const char c = i < text.size() ? text[i] : '\0';
    return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  };
  const char first = lower(1);
  const char second = lower(2);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
  if ((first == 'r' || first == 'v') && second == 'e') return 3;
  if (first == 'l' && second == 'l') return 3;
  const bool is_long_s = any_case && text.substr(1).starts_with("\xC5\xBF");
  return is_long_s ? 3 : 0;
}

}  // namespace

std::optional<WordScanner> WordScanner::for_pattern(std::string_view pattern) {
  WordScanner scanner;
  if (pattern == find_named_pattern("llama3")) return scanner;
  if (pattern == find_named_pattern("qwen2")) {
    scanner.most_digits_ = 1;
    return scanner;
  }
  if (pattern == find_named_pattern("cl100k")) {
    scanner.takes_last_space_first_ = true;
    return scanner;
  }
  if (pattern == find_named_pattern("gpt2")) {
    scanner.is_gpt2_ = true;
    return scanner;
  }
  return std::nullopt;
}

// Alternatives 5, 6 and 7, and 6 and 7 of GPT-2, for a text that begins with
// white space.
size_t WordScanner::space_length(std::string_view text) const {
  size_t end = 0;
  size_t last_begin = 0;
  size_t after_newline = 0;
  while (end < text.size()) {
    size_t next = end;
    const uint8_t found = take(text, next);
    if (!(found & kSpace)) break;
    last_begin = end;
    end = next;
    if (found & kNewline) after_newline = end;
  }
  const bool is_at_end = end == text.size();
  if (takes_last_space_first_ && is_at_end) return end;
  if (!is_gpt2_ && after_newline > 0) return after_newline;
  return is_at_end || last_begin == 0 ? end : last_begin;
}

size_t WordScanner::llama_length(std::string_view text) const {
  size_t second = 0;
  const uint8_t first = take(text, second);
  if (first & kLetter) return end_of_run(text, second, kLetter);
  if (first & kNumber) {
    size_t end = second;
    for (int digits = 1; digits < most_digits_ && end < text.size(); ++digits) {
      size_t next = end;
      if (!(take(text, next) & kNumber)) break;
      end = next;
    }
    return end;
  }
  if (text[0] == '\'')
    if (const size_t length = contraction_length(text, /*any_case=*/true))
      return length;
  size_t third = second;
  uint8_t next = kSpace;  // The end of the text is as good as a space.
  if (second < text.size()) next = take(text, third);
  if (!(first & kNewline) && (next & kLetter))
    return end_of_run(text, third, kLetter);
  const bool begins_with_other = !(first & kSpace);
  const bool is_other_behind_space =
      text[0] == ' ' && !(next & (kLetter | kNumber | kSpace));
  if (begins_with_other || is_other_behind_space)
    return end_of_run(text, end_of_other(text, second), kNewline);
  return space_length(text);
}

size_t WordScanner::gpt2_length(std::string_view text) const {
  if (text[0] == '\'')
    if (const size_t length = contraction_length(text, /*any_case=*/false))
      return length;
  size_t begin = 0;
  uint8_t first = take(text, begin);
  if (text[0] == ' ' && text.size() > 1) {
    size_t next = begin;
    const uint8_t behind = take(text, next);
    if (!(behind & kSpace)) {
      first = behind;
      begin = next;
    }
  }
  if (first & kLetter) return end_of_run(text, begin, kLetter);
  if (first & kNumber) return end_of_run(text, begin, kNumber);
  if (first & kSpace) return space_length(text);
  return end_of_other(text, begin);
}

}  // namespace titan
