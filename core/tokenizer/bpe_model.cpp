// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/bpe_model.h"

#include <titan/error.h>

#include "core/tokenizer/json_node.h"
#include "core/tokenizer/utf8.h"

namespace titan {
namespace {

// Both spellings: ["a", "b"], and the older "a b".
std::pair<std::string, std::string> split_merge(const JsonNode& merge) {
  if (merge.is_array()) {
    const std::vector<JsonNode> parts = merge.items();
    if (parts.size() != 2) merge.fail("two tokens");
    return {parts[0].string(), parts[1].string()};
  }
  const std::string& both = merge.string();
  const size_t space = both.find(' ');
  if (space == both.npos || both.find(' ', space + 1) != both.npos)
    merge.fail("two tokens and one space");
  return {both.substr(0, space), both.substr(space + 1)};
}

int32_t id_of(const TokenTable& tokens,
              const std::string& token,
              const JsonNode& node) {
  const std::optional<int32_t> id = tokens.find(token);
  TITAN_USER_CHECK(id,
                   '[',
                   node.where(),
                   "] merge: expected tokens of the vocabulary, got ",
                   token);
  return *id;
}

void read_merges(const JsonNode& node, BpeFile& file) {
  const std::vector<JsonNode> items = node.items();
  file.merges.reserve(items.size());
  const std::string& prefix = file.continuing_subword_prefix;
  for (const JsonNode& item : items) {
    const auto [left, right] = split_merge(item);
    if (right.size() < prefix.size())
      item.fail("a second token with continuing_subword_prefix");
    file.merges.push_back(
        {id_of(file.tokens, left, item),
         id_of(file.tokens, right, item),
         id_of(file.tokens, left + right.substr(prefix.size()), item)});
  }
}

}  // namespace

BpeFile read_bpe_file(const JsonNode& node) {
  node.only_keys({"type",
                  "dropout",
                  "unk_token",
                  "continuing_subword_prefix",
                  "end_of_word_suffix",
                  "fuse_unk",
                  "byte_fallback",
                  "ignore_merges",
                  "vocab",
                  "merges"});
  if (!node["dropout"].is_null() && node["dropout"].number() != 0)
    node["dropout"].refuse("merging with dropout");
  BpeFile file;
  if (!node["unk_token"].is_null()) file.unk_token = node["unk_token"].string();
  file.continuing_subword_prefix =
      node["continuing_subword_prefix"].string_or("");
  file.end_of_word_suffix = node["end_of_word_suffix"].string_or("");
  file.fuse_unk = node["fuse_unk"].boolean_or(false);
  file.byte_fallback = node["byte_fallback"].boolean_or(false);
  file.ignore_merges = node["ignore_merges"].boolean_or(false);
  file.tokens = read_vocabulary(node["vocab"]);
  read_merges(node["merges"], file);
  return file;
}

MergeTable make_merge_table(const std::vector<BpeFile::Merge>& merges) {
  MergeTable table(merges.size());
  uint32_t rank = 0;
  for (const BpeFile::Merge& merge : merges)
    table.insert(merge.left, merge.right, {rank++, merge.merged});
  return table;
}

std::unique_ptr<TokenModel> read_bpe_model(const JsonNode& node) {
  return std::make_unique<BpeModel>(read_bpe_file(node));
}

BpeModel::BpeModel(BpeFile file)
    : merges_(make_merge_table(file.merges)),
      byte_ids_(find_byte_tokens(file.tokens)),
      unk_token_(std::move(file.unk_token)),
      prefix_(std::move(file.continuing_subword_prefix)),
      suffix_(std::move(file.end_of_word_suffix)),
      fuse_unk_(file.fuse_unk),
      byte_fallback_(file.byte_fallback),
      ignore_merges_(file.ignore_merges) {
  tokens_ = std::move(file.tokens);
}

void BpeModel::append_ids(std::string_view piece,
                          ModelScratch& scratch,
                          std::vector<int32_t>& ids) const {
  if (ignore_merges_)
    if (const auto whole = tokens_.find(piece)) return ids.push_back(*whole);
  scratch.bpe.symbols.clear();
  append_symbols(piece, scratch.bpe.symbols);
  if (scratch.bpe.symbols.empty()) return;
  merge_symbols(merges_, scratch.bpe);
  ids.insert(ids.end(), scratch.bpe.symbols.begin(), scratch.bpe.symbols.end());
}

// merge_word of bpe/model.rs, with its order: an unknown character waits, so
// that the next may join it, and byte tokens do not make it leave. A character
// without any token vanishes.
void BpeModel::append_symbols(std::string_view piece,
                              std::vector<int32_t>& symbols) const {
  bool is_unknown_waiting = false;
  for (size_t i = 0; i < piece.size();) {
    const size_t begin = i;
    next_code_point(piece, i);
    const std::string_view character = piece.substr(begin, i - begin);
    const bool is_first = begin == 0;
    const bool is_last = i == piece.size();
    if (const auto id = find_symbol(character, is_first, is_last)) {
      if (is_unknown_waiting) symbols.push_back(unknown());
      is_unknown_waiting = false;
      symbols.push_back(*id);
      continue;
    }
    if (byte_fallback_ && append_bytes(character, is_first, is_last, symbols))
      continue;
    if (!unk_token_) continue;
    if (is_unknown_waiting && !fuse_unk_) symbols.push_back(unknown());
    is_unknown_waiting = true;
  }
  if (is_unknown_waiting) symbols.push_back(unknown());
}

std::string BpeModel::decorate(std::string_view character,
                               bool is_first,
                               bool is_last) const {
  return text(is_first ? "" : prefix_, character, is_last ? suffix_ : "");
}

std::optional<int32_t> BpeModel::find_symbol(std::string_view character,
                                             bool is_first,
                                             bool is_last) const {
  if ((is_first || prefix_.empty()) && (!is_last || suffix_.empty()))
    return tokens_.find(character);
  return tokens_.find(decorate(character, is_first, is_last));
}

bool BpeModel::append_bytes(std::string_view character,
                            bool is_first,
                            bool is_last,
                            std::vector<int32_t>& symbols) const {
  const std::string bytes = decorate(character, is_first, is_last);
  for (const char byte : bytes)
    if (byte_ids_[static_cast<unsigned char>(byte)] < 0) return false;
  for (const char byte : bytes)
    symbols.push_back(byte_ids_[static_cast<unsigned char>(byte)]);
  return true;
}

int32_t BpeModel::unknown() const {
  const std::optional<int32_t> id = tokens_.find(*unk_token_);
  TITAN_USER_CHECK(id,
                   "[tokenizer] the text needs the unknown token, but the "
                   "vocabulary has no ",
                   *unk_token_);
  return *id;
}

}  // namespace titan
