// SPDX-License-Identifier: BSD-3-Clause
// The added tokens of a tokenizer: reading them, finding them in raw and in
// normalised text, and what they decode to.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/tokenizer/added_tokens.h"
#include "core/tokenizer/token_table.h"

namespace titan {

class JsonNode;
class Normalizer;

/// Reads `added_tokens`; empty for a null node. UserError: malformed, a token
/// twice, or an id other than the one that `tokenizers` gives the token: that
/// of the vocabulary `model`, else the next free one.
std::vector<AddedToken> read_added_tokens(const JsonNode& node,
                                          const TokenTable& model);

/// Adds the tokens of tokenizer_config.json (`from_config`) as transformers
/// does: what the tokenizer lacks is added and the config's flags win.
/// UserError (tag `name`): another token has the id.
void merge_config_tokens(const std::vector<AddedToken>& from_config,
                         const TokenTable& model,
                         const std::string& name,
                         std::vector<AddedToken>& tokens);

class AddedVocabulary {
 public:
  /// `normalizer` (may be null) rewrites the tokens that are searched in
  /// normalised text; it is used here only.
  AddedVocabulary(const std::vector<AddedToken>& tokens,
                  const Normalizer* normalizer);

  const AddedTokenMatcher& raw() const { return raw_; }
  const AddedTokenMatcher& normalized() const { return normalized_; }
  std::optional<int32_t> find(std::string_view content) const;
  /// What the id decodes to; null where it is not an added token.
  const std::string* text_of(int32_t id) const;
  bool is_special(const std::string& text) const {
    return special_.contains(text);
  }
  /// One more than the largest id; 0 without tokens.
  int64_t end() const { return end_; }

 private:
  AddedTokenMatcher raw_;
  AddedTokenMatcher normalized_;
  Vocabulary ids_;
  std::unordered_map<int32_t, std::string> texts_;
  std::unordered_set<std::string> special_;
  int64_t end_ = 0;
};

}  // namespace titan
