// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/unigram_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <titan/error.h>

#include "core/tokenizer/json_node.h"
#include "core/tokenizer/tokenizer_config.h"
#include "core/tokenizer/utf8.h"

namespace titan {
namespace {

constexpr double kUnknownPenalty = 10;  // kUnkPenalty of unigram_model.cc

PrefixTrie make_trie(const UnigramFile& file) {
  std::vector<std::pair<std::string, int32_t>> tokens;
  for (size_t id = 0; id < file.tokens.size(); ++id)
    if (file.tokens[id].is_found_in_text)
      tokens.emplace_back(file.tokens[id].text, static_cast<int32_t>(id));
  return PrefixTrie(std::move(tokens));
}

double lowest_score(const UnigramFile& file) {
  double lowest = std::numeric_limits<double>::infinity();
  for (const UnigramFile::Token& token : file.tokens)
    if (token.sets_lowest) lowest = std::min(lowest, token.score);
  return lowest;
}

}  // namespace

std::unique_ptr<TokenModel> read_unigram_model(const JsonNode& node) {
  node.only_keys({"type", "unk_id", "vocab", "byte_fallback"});
  UnigramFile file;
  const std::vector<JsonNode> items = node["vocab"].items();
  if (items.size() > static_cast<size_t>(kMaxTokenId))
    node["vocab"].fail(text("at most ", kMaxTokenId, " tokens"));
  file.tokens.reserve(items.size());
  for (const JsonNode& item : items) {
    const std::vector<JsonNode> pair = item.items();
    if (pair.size() != 2) item.fail("a token and its score");
    if (!std::isfinite(pair[1].number())) pair[1].fail("a finite score");
    file.tokens.push_back({pair[0].string(), pair[1].number()});
  }
  if (!node["unk_id"].is_null())
    file.unk_id = static_cast<int32_t>(node["unk_id"].integer(
        0, static_cast<int64_t>(file.tokens.size()) - 1));
  file.byte_fallback = node["byte_fallback"].boolean_or(false);
  return std::make_unique<UnigramModel>(file);
}

UnigramModel::UnigramModel(const UnigramFile& file)
    : trie_(make_trie(file)),
      unknown_score_(lowest_score(file) - kUnknownPenalty),
      unk_id_(file.unk_id),
      byte_fallback_(file.byte_fallback),
      is_sentencepiece_(file.is_sentencepiece) {
  for (size_t id = 0; id < file.tokens.size(); ++id) {
    tokens_.add(file.tokens[id].text, static_cast<int32_t>(id));
    scores_.push_back(file.tokens[id].score);
  }
  if (is_sentencepiece_) unknown_score_ = static_cast<float>(unknown_score_);
  byte_ids_ = find_byte_tokens(tokens_);
}

void UnigramModel::find_best_path(
    std::string_view piece,
    std::vector<ModelScratch::PathNode>& path) const {
  path.assign(piece.size() + 1, {});
  for (size_t at = 0; at < piece.size();) {
    const double score_here = path[at].score;
    const auto begin = static_cast<int64_t>(at);
    const auto offer = [&](size_t end, double score, int32_t id) {
      ModelScratch::PathNode& node = path[end];
      if (node.begin >= 0 && score <= node.score) return;
      // Ties depend on it.
      const double kept = is_sentencepiece_ ? static_cast<float>(score) : score;
      node = {kept, begin, id};
    };
    size_t end = at;
    next_code_point(piece, end);
    bool has_character = false;
    trie_.for_each_prefix(piece.substr(at), [&](size_t length, int32_t id) {
      // The vocabulary is text, so a match ends where a character does.
      offer(at + length, scores_[static_cast<size_t>(id)] + score_here, id);
      has_character |= at + length == end;
    });
    if (!has_character) offer(end, unknown_score_ + score_here, unknown());
    at = end;
  }
}

void UnigramModel::append_ids(std::string_view piece,
                              ModelScratch& scratch,
                              std::vector<int32_t>& ids) const {
  find_best_path(piece, scratch.path);
  // Backwards; neighbouring unknown tokens become one.
  std::vector<int32_t>& reversed = scratch.bpe.symbols;
  std::vector<int32_t> part;
  reversed.clear();
  size_t end = piece.size();
  while (end > 0) {
    const ModelScratch::PathNode& node = scratch.path[end];
    auto begin = static_cast<size_t>(node.begin);
    if (unk_id_ != node.id) {
      reversed.push_back(node.id);
      end = begin;
      continue;
    }
    while (begin > 0 && scratch.path[begin].id == node.id)
      begin = static_cast<size_t>(scratch.path[begin].begin);
    part.clear();
    append_unknown(piece.substr(begin, end - begin), part);
    reversed.insert(reversed.end(), part.rbegin(), part.rend());
    end = begin;
  }
  ids.insert(ids.end(), reversed.rbegin(), reversed.rend());
}

// The joined text may be a token after all, or be spelled in bytes.
void UnigramModel::append_unknown(std::string_view text,
                                  std::vector<int32_t>& ids) const {
  const auto id = is_sentencepiece_ ? std::nullopt : tokens_.find(text);
  if (id) return ids.push_back(*id);
  bool has_all = byte_fallback_;
  for (const char byte : text)
    has_all = has_all && byte_ids_[static_cast<unsigned char>(byte)] >= 0;
  if (!has_all) return ids.push_back(unknown());
  for (const char byte : text)
    ids.push_back(byte_ids_[static_cast<unsigned char>(byte)]);
}

int32_t UnigramModel::unknown() const {
  TITAN_USER_CHECK(unk_id_,
                   "[tokenizer] the text needs the unknown token, but the "
                   "model has no unk_id");
  return *unk_id_;
}

}  // namespace titan
