// SPDX-License-Identifier: BSD-3-Clause
// The scanner against PCRE2, which runs the same patterns.
#include "core/tokenizer/word_scanner.h"

#include <random>

#include <catch2/catch.hpp>

#include "core/tokenizer/named_patterns.h"
#include "core/tokenizer/split_pattern.h"
#include "core/tokenizer/utf8.h"

namespace {

using Pieces = std::vector<std::string_view>;

Pieces scan(const titan::WordScanner& scanner, std::string_view text) {
  Pieces pieces;
  while (!text.empty()) {
    const size_t length = scanner.piece_length(text);
    REQUIRE((length > 0 && length <= text.size()));
    pieces.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return pieces;
}

std::string random_text(std::mt19937& random) {
  static const char* const kParts[] = {" ",
                                       " ",
                                       "  ",
                                       "\n",
                                       "\r",
                                       "\t",
                                       "'",
                                       "'s",
                                       "'S",
                                       "'\xC5\xBF",
                                       "re",
                                       "LL",
                                       "'v",
                                       "e",
                                       "d",
                                       "a",
                                       "Z",
                                       "1",
                                       "23",
                                       "4567",
                                       "!",
                                       "..",
                                       "_",
                                       "-",
                                       "/",
                                       "\x01",
                                       "\xC2\xA0",
                                       "\xC2\x85",
                                       "\xE3\x80\x80",
                                       "\xC3\xA9",
                                       "e\xCC\x81",
                                       "\xE4\xB8\xAD",
                                       "\xD9\xA1",
                                       "\xC2\xBD",
                                       "\xE2\x85\xA7",
                                       "\xF0\x9F\x98\x80",
                                       "\xE2\x80\x94",
                                       "\xE1\xA0\x8E",
                                       "\xE2\x80\x8B",
                                       "\xE2\x80\xA8",
                                       "\xC7\x85"};
  std::string text;
  for (int n = static_cast<int>(random() % 14); n >= 0; --n) {
    if (random() % 12 != 0) {
      text += kParts[random() % std::size(kParts)];
      continue;
    }
    uint32_t c = random() % 0x110000;
    if (c >= 0xD800 && c < 0xE000) c = 'x';
    titan::append_utf8(text, c);
  }
  return text;
}

}  // namespace

TEST_CASE("the scanner gives the pieces of PCRE2, seed 3", "[unit]") {
  for (const char* name : {"llama3", "qwen2", "cl100k", "gpt2"}) {
    const char* pattern = titan::find_named_pattern(name);
    const auto scanner = titan::WordScanner::for_pattern(pattern);
    REQUIRE(scanner);
    const titan::SplitPattern reference(pattern, name);
    titan::SplitPattern::Scratch scratch;
    std::mt19937 random(3);
    for (int round = 0; round < 20000; ++round) {
      const std::string text = random_text(random);
      Pieces expected;
      reference.append_pieces(text, scratch, expected);
      if (scan(*scanner, text) == expected) continue;
      INFO(name << ": " << text);
      REQUIRE(scan(*scanner, text) == expected);
    }
  }
}

TEST_CASE("the scanner knows the class that PCRE2 gives each character",
          "[unit]") {
  const char* pattern = titan::find_named_pattern("llama3");
  const auto scanner = titan::WordScanner::for_pattern(pattern);
  const titan::SplitPattern reference(pattern, "llama3");
  titan::SplitPattern::Scratch scratch;
  for (uint32_t c = 1; c < 0x110000; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text = " ";
    titan::append_utf8(text, c);
    text += "x1";
    titan::append_utf8(text, c);
    Pieces expected;
    reference.append_pieces(text, scratch, expected);
    if (scan(*scanner, text) != expected) {
      INFO("code point " << c);
      REQUIRE(scan(*scanner, text) == expected);
    }
  }
  CHECK_FALSE(titan::WordScanner::for_pattern("\\p{L}+"));
}
