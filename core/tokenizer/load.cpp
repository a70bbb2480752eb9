// SPDX-License-Identifier: BSD-3-Clause
// The one place that chooses a tokenizer's implementation.
#include "core/tokenizer/byte_level_bpe.h"
#include "core/tokenizer/byte_tokenizer.h"
#include "core/tokenizer/tokenizer.h"
#include "core/tokenizer/tokenizer_file.h"

namespace titan {

std::unique_ptr<Tokenizer> load_tokenizer(const std::string& spec) {
  if (spec == "bytes") return std::make_unique<ByteTokenizer>();
  return std::make_unique<ByteLevelBpe>(read_tokenizer_folder(spec));
}

}  // namespace titan
