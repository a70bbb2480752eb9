// SPDX-License-Identifier: BSD-3-Clause
// Models that look whole words, or the longest parts of them, up: WordLevel
// and WordPiece.
#include <optional>

#include <titan/error.h>

#include "core/tokenizer/json_node.h"
#include "core/tokenizer/token_model.h"
#include "core/tokenizer/unicode_classes.h"
#include "core/tokenizer/utf8.h"

namespace titan {
namespace {

int32_t find_unknown(const TokenTable& tokens, const std::string& name) {
  const std::optional<int32_t> id = tokens.find(name);
  TITAN_USER_CHECK(id,
                   "[tokenizer] the text needs the unknown token, but the "
                   "vocabulary has no ",
                   name);
  return *id;
}

class WordLevelModel final : public TokenModel {
 public:
  explicit WordLevelModel(const JsonNode& node)
      : unk_token_(node["unk_token"].string()) {
    node.only_keys({"type", "vocab", "unk_token"});
    tokens_ = read_vocabulary(node["vocab"]);
  }
  void append_ids(std::string_view piece,
                  ModelScratch&,
                  std::vector<int32_t>& ids) const override {
    const std::optional<int32_t> id = tokens_.find(piece);
    ids.push_back(id ? *id : find_unknown(tokens_, unk_token_));
  }

 private:
  std::string unk_token_;
};

class WordPieceModel final : public TokenModel {
 public:
  explicit WordPieceModel(const JsonNode& node)
      : unk_token_(node["unk_token"].string()),
        prefix_(node["continuing_subword_prefix"].string()),
        max_characters_(static_cast<size_t>(
            node["max_input_chars_per_word"].integer(0, kMostCharacters))) {
    node.only_keys({"type",
                    "vocab",
                    "unk_token",
                    "continuing_subword_prefix",
                    "max_input_chars_per_word"});
    tokens_ = read_vocabulary(node["vocab"]);
  }

  void append_ids(std::string_view piece,
                  ModelScratch&,
                  std::vector<int32_t>& ids) const override {
    size_t num_characters = 0;
    for (const char byte : piece) num_characters += !is_utf8_continuation(byte);
    const size_t before = ids.size();
    if (num_characters <= max_characters_ && append_parts(piece, ids)) return;
    ids.resize(before);
    ids.push_back(find_unknown(tokens_, unk_token_));
  }

 private:
  // Matching takes time quadratic in it; BERT's is 100.
  static constexpr int64_t kMostCharacters = 100000;

  // Longest match first; false where a rest has no match at all.
  bool append_parts(std::string_view piece, std::vector<int32_t>& ids) const {
    std::string part;
    for (size_t start = 0; start < piece.size();) {
      size_t end = piece.size();
      std::optional<int32_t> id;
      while (start < end) {
        part.assign(start > 0 ? prefix_ : "");
        part.append(piece.substr(start, end - start));
        id = tokens_.find(part);
        if (id) break;
        end = previous_character(piece, end);
      }
      if (!id) return false;
      ids.push_back(*id);
      start = end;
    }
    return true;
  }

  std::string unk_token_;
  std::string prefix_;
  size_t max_characters_;
};

}  // namespace

std::unique_ptr<TokenModel> read_word_piece_model(const JsonNode& node) {
  return std::make_unique<WordPieceModel>(node);
}

std::unique_ptr<TokenModel> read_word_level_model(const JsonNode& node) {
  return std::make_unique<WordLevelModel>(node);
}

}  // namespace titan
