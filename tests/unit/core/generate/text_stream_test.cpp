// SPDX-License-Identifier: BSD-3-Clause
#include "core/generate/text_stream.h"

#include <catch2/catch.hpp>

namespace titan::generate {

TEST_CASE("characters cut by tokens are held back until they are whole",
          "[unit]") {
  const auto bytes = load_tokenizer("bytes");
  TextStream stream(*bytes);
  CHECK(stream.push('a') == "a");
  CHECK(stream.push(0xE2).empty());  // the euro sign is E2 82 AC
  CHECK(stream.push(0x82).empty());
  CHECK(stream.push(0xAC) == "\xE2\x82\xAC");
  CHECK(stream.push('b') == "b");
  CHECK(stream.finish().empty());
}

TEST_CASE("bytes that begin no character are passed on at once", "[unit]") {
  const auto bytes = load_tokenizer("bytes");
  TextStream stream(*bytes);
  CHECK(stream.push(0xFF) == "\xFF");
  CHECK(stream.push(0x80) == "\x80");
  CHECK(stream.push(0xF0).empty());
  CHECK(stream.push('x') == "\xF0x");
  CHECK(stream.push(0xC3).empty());
  CHECK(stream.finish() == "\xC3");
  CHECK(stream.finish().empty());
}

TEST_CASE("a stream of tokens gives the text of the whole", "[unit]") {
  const auto tokenizer = load_tokenizer(TITAN_SOURCE_DIR "/assets/tokenizer");
  const std::string text =
      "ROMEO:\nBut soft \xE2\x80\x94 na\xC3\xAFve \xF0\x9F\x98\x80 light!";
  TextStream stream(*tokenizer);
  std::string shown;
  for (int32_t id : tokenizer->encode(text, false, false))
    shown += stream.push(id);
  CHECK(shown + stream.finish() == text);
}

TEST_CASE("a stream keeps the spaces that a decoder puts between tokens",
          "[unit]") {
  const std::string data = TITAN_SOURCE_DIR "/tests/unit/core/tokenizer/data/";
  const std::string text = "Hello the w\xC3\xB6rld  \xF0\x9F\x98\x80 end";
  for (const char* name : {"spm_bpe", "models/bpe_bytes.model"}) {
    const auto tokenizer = load_tokenizer(data + name);
    const auto ids = tokenizer->encode(text, false, false);
    TextStream stream(*tokenizer);
    std::string shown;
    for (const int32_t id : ids) shown += stream.push(id);
    INFO(name);
    CHECK(shown + stream.finish() == tokenizer->decode(ids, true));
  }
}

}  // namespace titan::generate
