// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/utf8.h"

#include <catch2/catch.hpp>

TEST_CASE("ill-formed UTF-8 is found at its first byte", "[unit]") {
  using titan::find_invalid_utf8;
  CHECK_FALSE(find_invalid_utf8(""));
  CHECK_FALSE(find_invalid_utf8("long ascii text and \u00e9\u4e2d\U0001F600"));
  CHECK_FALSE(find_invalid_utf8("\uD7FF\uE000\U0010FFFF"));
  for (const char* bad : {"\x80",
                          "\xC0\x80",
                          "\xC3",
                          "\xE0\x80\x80",
                          "\xED\xA0\x80",
                          "\xF0\x80\x80\x80",
                          "\xF5",
                          "\xF4\x90\x80\x80",
                          "\xE4\xB8",
                          "\xFF"})
    CHECK(find_invalid_utf8(std::string("0123456789") + bad + "z") == 10u);
}

// Expected values: CPython's bytes.decode("utf8", "replace"), which replaces
// maximal parts as Rust does.
TEST_CASE("each maximal ill-formed part becomes one U+FFFD", "[unit]") {
  CHECK(titan::to_valid_utf8("a\xE4\xB8z") == "a\uFFFDz");
  CHECK(titan::to_valid_utf8("\xF0\x9F\x98") == "\uFFFD");
  CHECK(titan::to_valid_utf8("\xED\xA0\x80") == "\uFFFD\uFFFD\uFFFD");
  CHECK(titan::to_valid_utf8("\u00e9") == "\u00e9");
}

TEST_CASE("code points survive encoding and reading", "[unit]") {
  for (uint32_t c :
       {0u, 0x7Fu, 0x80u, 0x7FFu, 0x800u, 0xFFFFu, 0x10000u, 0x10FFFFu}) {
    std::string out;
    titan::append_utf8(out, c);
    size_t position = 0;
    CHECK(titan::next_code_point(out, position) == c);
    CHECK(position == out.size());
  }
}
