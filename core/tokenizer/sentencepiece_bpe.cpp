// SPDX-License-Identifier: BSD-3-Clause
// SentencePiece's BPE (bpe_model.cc): any two neighbours whose joined text is a
// piece may merge, the highest score first, the leftmost among equals. Here as
// a table of merges, so that merging needs no text. Characters that are parts
// of pieces but none themselves get numbers behind the pieces.
#include <algorithm>

#include "core/tokenizer/prefix_trie.h"
#include "core/tokenizer/sentencepiece_tokenizer.h"
#include "core/tokenizer/utf8.h"

namespace titan {
namespace {

using Kind = SentencePieceFile::Kind;

class SentencePieceBpe final : public TokenModel {
 public:
  explicit SentencePieceBpe(const SentencePieceFile& file)
      : user_defined_(frozen_pieces(file)),
        unk_id_(static_cast<int32_t>(file.unk_id)),
        byte_fallback_(file.byte_fallback),
        merges_(0) {
    for (size_t id = 0; id < file.pieces.size(); ++id)
      tokens_.add(file.pieces[id].text, static_cast<int32_t>(id));
    byte_ids_ = find_byte_tokens(tokens_);
    number_characters(file);
    build_merges(file);
  }

  void append_ids(std::string_view piece,
                  ModelScratch& scratch,
                  std::vector<int32_t>& ids) const override {
    std::vector<int32_t>& symbols = scratch.bpe.symbols;
    symbols.clear();
    for (size_t i = 0; i < piece.size();) {
      const size_t frozen = frozen_length(piece.substr(i));
      size_t end = i + frozen;
      if (frozen == 0) next_code_point(piece, end);
      symbols.push_back(symbol_of(piece.substr(i, end - i), frozen > 0));
      i = end;
    }
    merge_symbols(merges_, scratch.bpe);
    append_symbols(piece, symbols, ids);
  }

 private:
  static bool is_mergeable(Kind kind) { return kind == Kind::kNormal; }

  static std::vector<std::pair<std::string, int32_t>> frozen_pieces(
      const SentencePieceFile& file) {
    std::vector<std::pair<std::string, int32_t>> found;
    for (size_t id = 0; id < file.pieces.size(); ++id)
      if (file.pieces[id].kind == Kind::kUserDefined)
        found.emplace_back(file.pieces[id].text, static_cast<int32_t>(id));
    return found;
  }

  size_t frozen_length(std::string_view text) const {
    size_t longest = 0;
    user_defined_.for_each_prefix(
        text, [&](size_t length, int32_t) { longest = length; });
    return longest;
  }

  // Where a piece is control, unknown or a byte, its text is only characters.
  void number_characters(const SentencePieceFile& file) {
    auto next = static_cast<int32_t>(file.pieces.size());
    for (size_t id = 0; id < file.pieces.size(); ++id)
      if (is_mergeable(file.pieces[id].kind))
        numbers_.emplace(file.pieces[id].text, static_cast<int32_t>(id));
    for (const auto& piece : file.pieces) {
      if (!is_mergeable(piece.kind)) continue;
      for (size_t i = 0; i < piece.text.size();) {
        const size_t begin = i;
        next_code_point(piece.text, i);
        if (numbers_.emplace(piece.text.substr(begin, i - begin), next).second)
          ++next;
      }
    }
    stranger_ = next;
  }

  void build_merges(const SentencePieceFile& file) {
    std::vector<int32_t> order;
    for (size_t id = 0; id < file.pieces.size(); ++id)
      if (is_mergeable(file.pieces[id].kind))
        order.push_back(static_cast<int32_t>(id));
    const auto score = [&](int32_t id) {
      return file.pieces[static_cast<size_t>(id)].score;
    };
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return score(a) > score(b);
    });
    struct Entry {
      int32_t left;
      int32_t right;
      MergeTable::Merge merge;
    };
    std::vector<Entry> entries;
    uint32_t rank = 0;
    for (size_t k = 0; k < order.size(); ++k) {
      const std::string& text = file.pieces[static_cast<size_t>(order[k])].text;
      if (k > 0 && score(order[k]) != score(order[k - 1])) ++rank;
      for (size_t cut = 1; cut < text.size(); ++cut) {
        if (is_utf8_continuation(text[cut])) continue;
        const auto left = numbers_.find(std::string_view(text).substr(0, cut));
        const auto right = numbers_.find(std::string_view(text).substr(cut));
        if (left != numbers_.end() && right != numbers_.end())
          entries.push_back({left->second, right->second, {rank, order[k]}});
      }
    }
    merges_ = MergeTable(entries.size());
    for (const Entry& entry : entries)
      merges_.insert(entry.left, entry.right, entry.merge);
  }

  int32_t symbol_of(std::string_view text, bool is_frozen) const {
    if (is_frozen) return *tokens_.find(text);
    const auto found = numbers_.find(text);
    return found == numbers_.end() ? stranger_ : found->second;
  }

  // Symbols behind the pieces are single characters without a piece.
  void append_symbols(std::string_view piece,
                      const std::vector<int32_t>& symbols,
                      std::vector<int32_t>& ids) const {
    bool was_unknown = false;
    size_t at = 0;
    for (const int32_t symbol : symbols) {
      const std::string* known = tokens_.text_of(symbol);
      if (known) {
        ids.push_back(symbol);
        at += known->size();
        was_unknown = false;
        continue;
      }
      size_t end = at;
      next_code_point(piece, end);
      if (byte_fallback_) {
        for (; at < end; ++at)
          ids.push_back(byte_id(static_cast<unsigned char>(piece[at])));
      } else if (!was_unknown) {
        ids.push_back(unk_id_);
      }
      at = end;
      was_unknown = true;
    }
  }

  int32_t byte_id(unsigned char byte) const {
    return byte_ids_[byte] >= 0 ? byte_ids_[byte] : unk_id_;
  }

  PrefixTrie user_defined_;
  int32_t unk_id_;
  bool byte_fallback_;
  MergeTable merges_;
  std::array<int32_t, 256> byte_ids_;
  Vocabulary numbers_;    // Symbols by text.
  int32_t stranger_ = 0;  // Of all characters that no piece has.
};

}  // namespace

std::unique_ptr<TokenModel> make_sentencepiece_bpe(
    const SentencePieceFile& file) {
  return std::make_unique<SentencePieceBpe>(file);
}

}  // namespace titan
