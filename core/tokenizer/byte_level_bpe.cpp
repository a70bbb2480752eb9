// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/byte_level_bpe.h"

#include <algorithm>

#include <titan/error.h>

#include "core/tokenizer/byte_level.h"
#include "core/tokenizer/utf8.h"

namespace titan {
namespace {

std::vector<SplitPattern> compile_patterns(const ByteLevelFile& file) {
  std::vector<SplitPattern> patterns;
  for (const std::string& pattern : file.patterns)
    patterns.emplace_back(pattern, file.name + ": pre_tokenizer");
  return patterns;
}

Bpe make_bpe(const ByteLevelFile& file) {
  Vocabulary vocabulary;
  std::array<int32_t, 256> byte_ids;
  byte_ids.fill(-1);
  for (const ByteLevelFile::Token& token : file.tokens) {
    if (!token.is_found_in_text) continue;
    if (token.bytes.size() == 1)
      byte_ids[static_cast<unsigned char>(token.bytes[0])] = token.id;
    vocabulary.emplace(token.bytes, token.id);
  }
  const auto missing = std::find(byte_ids.begin(), byte_ids.end(), -1);
  TITAN_USER_CHECK(missing == byte_ids.end(),
                   '[',
                   file.name,
                   "] byte-level BPE needs a token for every byte, but there "
                   "is none for byte ",
                   missing - byte_ids.begin());
  MergeTable merges(file.merges.size());
  for (const ByteLevelFile::Merge& merge : file.merges)
    merges.insert(merge.left, merge.right, {merge.rank, merge.merged});
  return Bpe(
      std::move(vocabulary), std::move(merges), byte_ids, file.ignore_merges);
}

}  // namespace

ByteLevelBpe::ByteLevelBpe(const ByteLevelFile& file, TokenizerFrame frame)
    : TextTokenizer(std::move(frame)),
      patterns_(compile_patterns(file)),
      bpe_(make_bpe(file)) {
  for (const ByteLevelFile::Token& token : file.tokens)
    tokens_.add(token.bytes, token.id);
  if (file.patterns.size() == 1)
    scanner_ = WordScanner::for_pattern(file.patterns[0]);
}

int64_t ByteLevelBpe::vocab_size() const {
  return std::max(static_cast<int64_t>(tokens_.end()), added().end());
}

// Asked in the spelling of the file: the alphabet, or plain text.
std::optional<int32_t> ByteLevelBpe::token_id(std::string_view token) const {
  if (const auto id = added().find(token)) return id;
  if (const auto bytes = bytes_of_byte_level(token))
    if (const auto id = tokens_.find(*bytes)) return id;
  return tokens_.find(token);
}

void ByteLevelBpe::append_section(std::string_view text,
                                  bool,
                                  Scratch& scratch,
                                  std::vector<int32_t>& ids) const {
  if (scanner_) {
    while (!text.empty()) {
      const size_t length = scanner_->piece_length(text);
      append_piece(text.substr(0, length), scratch, ids);
      text.remove_prefix(length);
    }
    return;
  }
  scratch.pieces.assign(1, text);
  for (const SplitPattern& pattern : patterns_) {
    scratch.next_pieces.clear();
    for (const std::string_view piece : scratch.pieces)
      pattern.append_pieces(piece, scratch.regex, scratch.next_pieces);
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
  bpe_.append_ids(piece, scratch.model.bpe, ids);
  scratch.cache.store(piece, std::span(ids).subspan(begin));
}

std::string ByteLevelBpe::decode(std::span<const int32_t> ids,
                                 bool skip_special) const {
  std::string out;
  for (const int32_t id : ids) {
    const std::string* added_text = added().text_of(id);
    const std::string* bytes = tokens_.text_of(id);
    if (added_text) {
      if (skip_special && added().is_special(*added_text)) continue;
      out.append(bytes_of_byte_level(*added_text).value_or(*added_text));
    } else if (bytes) {
      out.append(*bytes);
    } else {
      append_utf8(out, 0xFFFD);
    }
  }
  return out;
}

}  // namespace titan
