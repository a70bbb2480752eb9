// SPDX-License-Identifier: BSD-3-Clause
// The one place that chooses a tokenizer's implementation.
#include <titan/error.h>

#include "core/tokenizer/byte_tokenizer.h"
#include "core/tokenizer/json_node.h"
#include "core/tokenizer/tokenizer.h"
#include "core/tokenizer/tokenizer_json.h"

namespace titan {

std::unique_ptr<Tokenizer> load_tokenizer(const std::string& spec) {
  if (spec == "bytes") return std::make_unique<ByteTokenizer>();
  const std::filesystem::path folder(spec);
  const std::filesystem::path path = folder / "tokenizer.json";
  TITAN_USER_CHECK(std::filesystem::is_regular_file(path),
                   "[tokenizer] no tokenizer.json in ",
                   folder.string(),
                   ". Give a folder that has one, or \"bytes\"");
  return read_tokenizer_json(JsonFile(path), read_tokenizer_config(folder));
}

}  // namespace titan
