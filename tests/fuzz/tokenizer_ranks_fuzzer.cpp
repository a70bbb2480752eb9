// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as tiktoken's ranks. The 256 bytes, which a fuzzer would not find,
// are put in front.
#include <cstdlib>
#include <string>

#include <titan/error.h>

#include "core/tokenizer/tiktoken_file.h"

using namespace titan;

namespace {

std::string byte_lines() {
  constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string lines;
  for (int byte = 0; byte < 256; ++byte)
    lines += titan::text(
        kDigits[byte >> 2], kDigits[(byte & 3) << 4], "== ", byte, '\n');
  return lines;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string kBytes = byte_lines();
  try {
    const auto tokenizer = make_tiktoken_tokenizer(
        kBytes + std::string(reinterpret_cast<const char*>(data), size),
        "llama3",
        TokenizerConfig{},
        "fuzz");
    const std::string text = "Hello w\xC3\xB6rld 123\n\n  a";
    const auto ids = tokenizer->encode(text, false, false);
    for (const int32_t id : ids)
      if (id < 0 || id >= tokenizer->vocab_size()) std::abort();
    if (tokenizer->decode(ids) != text) std::abort();
  } catch (const UserError&) {
    // What a hostile file deserves.
  }
  return 0;
}
