// SPDX-License-Identifier: BSD-3-Clause
// The one place that chooses a tokenizer's implementation, by what the file
// holds, not by its name.
#include <algorithm>

#include <titan/error.h>

#include "core/tokenizer/byte_tokenizer.h"
#include "core/tokenizer/json_node.h"
#include "core/tokenizer/sentencepiece_tokenizer.h"
#include "core/tokenizer/tiktoken_file.h"
#include "core/tokenizer/tokenizer.h"
#include "core/tokenizer/tokenizer_json.h"

namespace titan {
namespace {

namespace fs = std::filesystem;

// In the order in which a folder is searched.
constexpr const char* kFileNames[] = {"tokenizer.json",
                                      "tokenizer.model",
                                      "spiece.model",
                                      "sentencepiece.bpe.model"};

fs::path find_file(const fs::path& spec) {
  if (fs::is_regular_file(spec)) return spec;
  for (const char* name : kFileNames)
    if (fs::is_regular_file(spec / name)) return spec / name;
  throw UserError(text("[tokenizer] no tokenizer.json in ",
                       spec.string(),
                       ", nor tokenizer.model. Give a folder that has one, a "
                       "tokenizer file, or \"bytes\""));
}

bool is_json(std::string_view bytes) {
  const size_t first = bytes.find_first_not_of(" \t\r\n");
  return first != bytes.npos && bytes[first] == '{';
}

}  // namespace

std::unique_ptr<Tokenizer> load_tokenizer(const std::string& spec) {
  if (spec == "bytes") return std::make_unique<ByteTokenizer>();
  const size_t hash = std::min(spec.rfind('#'), spec.size());
  const bool has_choice = hash < spec.size() && !fs::exists(spec);
  const fs::path path = find_file(has_choice ? spec.substr(0, hash) : spec);
  const std::string chosen = has_choice ? spec.substr(hash + 1) : "";
  const std::string bytes = read_tokenizer_bytes(path);
  const TokenizerConfig config = read_tokenizer_config(path.parent_path());
  const bool is_sentence_piece = is_sentencepiece(bytes);
  const bool is_ranks =
      !is_sentence_piece && path.extension() != ".json" && !is_json(bytes);
  if (is_ranks)
    return make_tiktoken_tokenizer(
        bytes,
        tiktoken_pattern_name(path.filename().string(), chosen),
        config,
        path.string());
  TITAN_USER_CHECK(chosen.empty(),
                   '[',
                   path.string(),
                   "] holds its own rules: expected no pattern after '#', got ",
                   chosen);
  if (is_sentence_piece && path.extension() != ".json")
    return make_sentencepiece_tokenizer(
        parse_sentencepiece(bytes, path.string()), config);
  return read_tokenizer_json(JsonFile(path.string(), bytes), config);
}

}  // namespace titan
