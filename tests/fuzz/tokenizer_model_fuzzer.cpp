// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a SentencePiece model: what is accepted encodes and decodes a
// text with ids inside the vocabulary.
#include <cstdlib>

#include <titan/error.h>

#include "core/tokenizer/sentencepiece_tokenizer.h"

using namespace titan;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto tokenizer = make_sentencepiece_tokenizer(
        parse_sentencepiece({reinterpret_cast<const char*>(data), size},
                            "fuzz"),
        TokenizerConfig{});
    const auto ids = tokenizer->encode(
        "Hello  w\xC3\xB6rld 1\n\n a\xE2\x96\x81", false, false);
    for (const int32_t id : ids)
      if (id < 0 || id >= tokenizer->vocab_size()) std::abort();
    tokenizer->decode(ids);
  } catch (const UserError&) {
    // What a hostile file deserves.
  }
  return 0;
}
