// SPDX-License-Identifier: BSD-3-Clause
// What tokenizer.json calls models: a piece of text to token ids. One file
// pair per kind: bpe_model, unigram_model, word_models.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/tokenizer/bpe.h"
#include "core/tokenizer/token_table.h"

namespace titan {

class JsonNode;

/// One thread's working memory.
struct ModelScratch {
  /// Where the best path that ends at a byte comes from (Unigram).
  struct PathNode {
    double score = 0;
    int64_t begin = -1;  // -1: no path ends here.
    int32_t id = 0;
  };
  BpeScratch bpe;
  std::vector<PathNode> path;
};

/// Immutable; any thread may use it with its own scratch.
class TokenModel {
 public:
  virtual ~TokenModel() = default;
  /// Appends the ids of `piece` (well-formed UTF-8, not empty). UserError: the
  /// piece needs an unknown token that the model does not have.
  virtual void append_ids(std::string_view piece,
                          ModelScratch& scratch,
                          std::vector<int32_t>& ids) const = 0;
  const TokenTable& tokens() const { return tokens_; }

 protected:
  TokenTable tokens_;
};

/// Reads a model. UserError: it is not implemented or malformed.
std::unique_ptr<TokenModel> read_token_model(const JsonNode& node);

/// The kinds.
std::unique_ptr<TokenModel> read_bpe_model(const JsonNode& node);
std::unique_ptr<TokenModel> read_unigram_model(const JsonNode& node);
std::unique_ptr<TokenModel> read_word_piece_model(const JsonNode& node);
std::unique_ptr<TokenModel> read_word_level_model(const JsonNode& node);

/// Reads an object from token texts to ids. UserError: an id is not a number
/// from 0 to kMaxTokenId, or is used twice.
TokenTable read_vocabulary(const JsonNode& node);

/// The text that stands for a byte where bytes are tokens: "<0x0A>".
std::string byte_token(unsigned char byte);
/// Ids of the 256 byte tokens, -1 where there is none.
std::array<int32_t, 256> find_byte_tokens(const TokenTable& tokens);

}  // namespace titan
