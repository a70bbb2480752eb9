// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/added_vocabulary.h"

#include <algorithm>

#include <titan/error.h>

#include "core/tokenizer/json_node.h"
#include "core/tokenizer/normalizer.h"
#include "core/tokenizer/tokenizer_config.h"

namespace titan {
namespace {

AddedToken read_added_token(const JsonNode& node) {
  if (!node.is_object()) node.fail("an added token (an object)");
  node.only_keys({"id",
                  "content",
                  "single_word",
                  "lstrip",
                  "rstrip",
                  "normalized",
                  "special"});
  AddedToken token;
  token.id = static_cast<int32_t>(node["id"].integer(0, kMaxTokenId));
  token.content = node["content"].string();
  if (token.content.empty()) node["content"].fail("a text that is not empty");
  token.single_word = node["single_word"].boolean_or(false);
  token.lstrip = node["lstrip"].boolean_or(false);
  token.rstrip = node["rstrip"].boolean_or(false);
  token.normalized = node["normalized"].boolean_or(false);
  token.special = node["special"].boolean_or(false);
  return token;
}

std::string normalized_form(const AddedToken& token,
                            const Normalizer* normalizer) {
  SourceText source{token.content};
  if (normalizer && token.normalized) normalizer->apply(source);
  return source.text;
}

std::vector<AddedToken> select(const std::vector<AddedToken>& tokens,
                               bool normalized,
                               const Normalizer* normalizer) {
  std::vector<AddedToken> selected;
  for (AddedToken token : tokens) {
    if (token.normalized != normalized || !token.is_written) continue;
    token.content = normalized_form(token, normalizer);
    if (!token.content.empty()) selected.push_back(std::move(token));
  }
  return selected;
}

}  // namespace

std::vector<AddedToken> read_added_tokens(const JsonNode& node,
                                          const TokenTable& model) {
  std::vector<AddedToken> tokens;
  if (node.is_null()) return tokens;
  std::unordered_set<std::string> seen;
  auto next_free = static_cast<int64_t>(model.size());
  for (const JsonNode& item : node.items()) {
    AddedToken token = read_added_token(item);
    if (!seen.insert(token.content).second)
      item["content"].fail("each token once");
    const std::optional<int32_t> known = model.find(token.content);
    const int64_t expected = known ? *known : next_free++;
    if (token.id != expected)
      item["id"].fail(text(
          expected,
          known ? " (the token's in model.vocab)" : " (the next free id)"));
    const std::string* other = model.text_of(token.id);
    if (!known && other) item["id"].fail("an id that no other token has");
    tokens.push_back(std::move(token));
  }
  return tokens;
}

void merge_config_tokens(const std::vector<AddedToken>& from_config,
                         const TokenTable& model,
                         const std::string& name,
                         std::vector<AddedToken>& tokens) {
  for (const AddedToken& token : from_config) {
    const auto same_content = std::find_if(
        tokens.begin(), tokens.end(), [&](const AddedToken& other) {
          return other.content == token.content;
        });
    const bool is_id_taken =
        std::any_of(tokens.begin(), tokens.end(), [&](const AddedToken& other) {
          return other.id == token.id && other.content != token.content;
        });
    const std::string* in_model = model.text_of(token.id);
    const auto known = same_content != tokens.end()
                           ? std::optional<int32_t>(same_content->id)
                           : model.find(token.content);
    TITAN_USER_CHECK(!is_id_taken && (!known || *known == token.id) &&
                         (!in_model || *in_model == token.content),
                     '[',
                     name,
                     ": added_tokens_decoder] token ",
                     token.id,
                     " is not the one that tokenizer.json has: ",
                     token.content);
    if (same_content == tokens.end())
      tokens.push_back(token);
    else
      *same_content = token;
  }
}

AddedVocabulary::AddedVocabulary(const std::vector<AddedToken>& tokens,
                                 const Normalizer* normalizer)
    : raw_(select(tokens, /*normalized=*/false, normalizer)),
      normalized_(select(tokens, /*normalized=*/true, normalizer)) {
  for (const AddedToken& token : tokens) {
    ids_.emplace(token.content, token.id);
    texts_.emplace(token.id, normalized_form(token, normalizer));
    if (token.special) special_.insert(token.content);
    end_ = std::max<int64_t>(end_, int64_t{token.id} + 1);
  }
}

std::optional<int32_t> AddedVocabulary::find(std::string_view content) const {
  const auto found = ids_.find(content);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

const std::string* AddedVocabulary::text_of(int32_t id) const {
  const auto found = texts_.find(id);
  return found == texts_.end() ? nullptr : &found->second;
}

}  // namespace titan
