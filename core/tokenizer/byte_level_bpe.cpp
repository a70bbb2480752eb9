// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/byte_level_bpe.h"

#include <algorithm>

#include <titan/error.h>

#include "core/tokenizer/byte_level.h"
#include "core/tokenizer/utf8.h"
#include "core/tokenizer/word_cache.h"

namespace titan {
namespace {

std::vector<AddedToken> select_added(const TokenizerFile& file,
                                     bool normalized) {
  std::vector<AddedToken> selected;
  for (const AddedToken& token : file.added_tokens)
    if (token.normalized == normalized) selected.push_back(token);
  return selected;
}

std::vector<SplitPattern> compile_patterns(const TokenizerFile& file) {
  std::vector<SplitPattern> patterns;
  for (const std::string& pattern : file.split_patterns)
    patterns.emplace_back(pattern, file.name + ": pre_tokenizer");
  return patterns;
}

// Splits end on character boundaries and bytes are all there, so unk_token
// (which some files set) can never be needed.
Bpe make_bpe(const TokenizerFile& file) {
  Vocabulary vocabulary;
  std::array<int32_t, 256> byte_ids;
  byte_ids.fill(-1);
  for (const auto& [token, id] : file.vocabulary) {
    // Tokens outside the alphabet can be decoded but never come from text.
    std::optional<std::string> bytes = bytes_of_byte_level(token);
    if (!bytes) continue;
    if (bytes->size() == 1)
      byte_ids[static_cast<unsigned char>((*bytes)[0])] = id;
    vocabulary.emplace(std::move(*bytes), id);
  }
  const auto missing = std::find(byte_ids.begin(), byte_ids.end(), -1);
  TITAN_USER_CHECK(missing == byte_ids.end(),
                   '[',
                   file.name,
                   ": model.vocab] byte-level BPE needs a token for every "
                   "byte, but there is none for byte ",
                   missing - byte_ids.begin());
  MergeTable merges(file.merges.size());
  uint32_t rank = 0;
  for (const TokenizerFile::Merge& merge : file.merges)
    merges.insert(merge.left, merge.right, {rank++, merge.merged});
  return Bpe(
      std::move(vocabulary), std::move(merges), byte_ids, file.ignore_merges);
}

}  // namespace

struct ByteLevelBpe::Scratch {
  SplitPattern::Scratch split;
  Bpe::Scratch bpe;
  WordCache cache;
  std::vector<TextSpan> spans;
  std::vector<TextSpan> inner_spans;
  std::vector<std::string_view> pieces;
  std::vector<std::string_view> next_pieces;
};

ByteLevelBpe::ByteLevelBpe(const TokenizerFile& file)
    : raw_matcher_(select_added(file, /*normalized=*/false)),
      normalized_matcher_(select_added(file, /*normalized=*/true)),
      patterns_(compile_patterns(file)),
      bpe_(make_bpe(file)),
      template_before_(file.template_before),
      template_after_(file.template_after) {
  special_tokens_ = file.special;
  const auto set = [&](const std::string& token, int32_t id, bool special) {
    if (static_cast<size_t>(id) >= tokens_.size()) tokens_.resize(id + 1);
    ids_by_content_.emplace(token, id);
    tokens_[id] = {bytes_of_byte_level(token).value_or(token), true, special};
  };
  for (const auto& [token, id] : file.vocabulary) set(token, id, false);
  for (const AddedToken& token : file.added_tokens)
    set(token.content, token.id, token.special);
}

ByteLevelBpe::~ByteLevelBpe() = default;

int64_t ByteLevelBpe::vocab_size() const {
  return static_cast<int64_t>(tokens_.size());
}

std::optional<int32_t> ByteLevelBpe::token_id(std::string_view token) const {
  const auto found = ids_by_content_.find(token);
  if (found == ids_by_content_.end()) return std::nullopt;
  return found->second;
}

std::unique_ptr<ByteLevelBpe::Scratch> ByteLevelBpe::take_scratch() const {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return std::make_unique<Scratch>();
  std::unique_ptr<Scratch> scratch = std::move(idle_.back());
  idle_.pop_back();
  return scratch;
}

void ByteLevelBpe::append_ids(std::string_view text,
                              std::vector<int32_t>& ids) const {
  const std::optional<size_t> bad = find_invalid_utf8(text);
  TITAN_USER_CHECK(!bad,
                   "[tokenizer] text is not UTF-8: ill-formed byte at offset ",
                   bad.value_or(0),
                   ". Convert the text to UTF-8, or use the bytes tokenizer");
  std::unique_ptr<Scratch> scratch = take_scratch();
  scratch->spans.clear();
  raw_matcher_.append_spans(text, scratch->spans);
  for (const TextSpan& span : scratch->spans) {
    if (span.id >= 0) {
      ids.push_back(span.id);
      continue;
    }
    scratch->inner_spans.clear();
    normalized_matcher_.append_spans(span.text, scratch->inner_spans);
    for (const TextSpan& inner : scratch->inner_spans) {
      if (inner.id >= 0)
        ids.push_back(inner.id);
      else
        append_text(inner.text, *scratch, ids);
    }
  }
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(scratch));
}

void ByteLevelBpe::append_text(std::string_view text,
                               Scratch& scratch,
                               std::vector<int32_t>& ids) const {
  scratch.pieces.assign(1, text);
  for (const SplitPattern& pattern : patterns_) {
    scratch.next_pieces.clear();
    for (const std::string_view piece : scratch.pieces)
      pattern.append_pieces(piece, scratch.split, scratch.next_pieces);
    std::swap(scratch.pieces, scratch.next_pieces);
  }
  for (const std::string_view piece : scratch.pieces)
    append_piece(piece, scratch, ids);
}

void ByteLevelBpe::append_piece(std::string_view piece,
                                Scratch& scratch,
                                std::vector<int32_t>& ids) const {
  const std::span<const int32_t> known = scratch.cache.find(piece);
  if (!known.empty()) {
    ids.insert(ids.end(), known.begin(), known.end());
    return;
  }
  const size_t begin = ids.size();
  bpe_.append_ids(piece, scratch.bpe, ids);
  scratch.cache.store(piece, std::span(ids).subspan(begin));
}

std::vector<int32_t> ByteLevelBpe::encode_with_template(
    std::string_view text) const {
  std::vector<int32_t> ids = template_before_;
  append_ids(text, ids);
  ids.insert(ids.end(), template_after_.begin(), template_after_.end());
  return ids;
}

std::string ByteLevelBpe::decode(std::span<const int32_t> ids,
                                 bool skip_special) const {
  std::string out;
  for (const int32_t id : ids) {
    const bool exists = id >= 0 && static_cast<size_t>(id) < tokens_.size() &&
                        tokens_[id].exists;
    if (!exists)
      append_utf8(out, 0xFFFD);
    else if (!skip_special || !tokens_[id].special)
      out.append(tokens_[id].bytes);
  }
  return out;
}

}  // namespace titan
