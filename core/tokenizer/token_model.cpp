// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/token_model.h"

#include "core/tokenizer/json_node.h"
#include "core/tokenizer/tokenizer_config.h"

namespace titan {
namespace {

// Files of before tokenizers 0.9 have no type.
std::string model_type(const JsonNode& node) {
  if (node.has("type")) return node["type"].string();
  if (node.has("merges")) return "BPE";
  if (node["vocab"].is_array()) return "Unigram";
  return node.has("max_input_chars_per_word") ? "WordPiece" : "WordLevel";
}

}  // namespace

std::unique_ptr<TokenModel> read_token_model(const JsonNode& node) {
  if (!node.is_object()) node.fail("a model (an object)");
  const std::string type = model_type(node);
  if (type == "BPE") return read_bpe_model(node);
  if (type == "Unigram") return read_unigram_model(node);
  if (type == "WordPiece") return read_word_piece_model(node);
  if (type == "WordLevel") return read_word_level_model(node);
  node["type"].refuse("this model");
}

TokenTable read_vocabulary(const JsonNode& node) {
  TokenTable tokens;
  for (const auto& [token, id] : node.members())
    if (!tokens.add(token, static_cast<int32_t>(id.integer(0, kMaxTokenId))))
      id.fail("an id that no other token has");
  return tokens;
}

std::string byte_token(unsigned char byte) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  return {'<', '0', 'x', kDigits[byte >> 4], kDigits[byte & 15], '>'};
}

std::array<int32_t, 256> find_byte_tokens(const TokenTable& tokens) {
  std::array<int32_t, 256> ids;
  for (size_t byte = 0; byte < ids.size(); ++byte)
    ids[byte] =
        tokens.find(byte_token(static_cast<unsigned char>(byte))).value_or(-1);
  return ids;
}

}  // namespace titan
