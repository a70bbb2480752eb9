// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as tokenizer.json: what is accepted encodes and decodes a text with
// ids inside the vocabulary, by both implementations alike.
#include <cstdlib>

#include <titan/error.h>

#include "core/tokenizer/json_node.h"
#include "core/tokenizer/tokenizer_json.h"

using namespace titan;

namespace {

constexpr const char* kText = "Hello <s> w\xC3\xB6rld 123\n\n  a\xE2\x96\x81";

std::vector<int32_t> use(const JsonFile& file, TokenizerChoice choice) {
  const auto tokenizer = read_tokenizer_json(file, TokenizerConfig{}, choice);
  const auto ids = tokenizer->encode_with_template(kText);
  for (const int32_t id : ids)
    if (id < 0 || id >= tokenizer->vocab_size()) std::abort();
  tokenizer->decode(ids);
  return ids;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const JsonFile file("fuzz", {reinterpret_cast<const char*>(data), size});
    const auto ids = use(file, TokenizerChoice::kFastest);
    if (use(file, TokenizerChoice::kPipeline) != ids) std::abort();
  } catch (const UserError&) {
    // What a hostile file deserves.
  }
  return 0;
}
