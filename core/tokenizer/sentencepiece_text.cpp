// SPDX-License-Identifier: BSD-3-Clause
// How SentencePiece rewrites text before encoding (normalizer.cc) and after
// decoding (sentencepiece_processor.cc).
#include <array>

#include "core/tokenizer/prefix_trie.h"
#include "core/tokenizer/sentencepiece_tokenizer.h"
#include "core/tokenizer/text_pattern.h"
#include "core/tokenizer/utf8.h"

namespace titan {
namespace {

using Kind = SentencePieceFile::Kind;

std::vector<std::pair<std::string, int32_t>> user_defined_pieces(
    const SentencePieceFile& file) {
  std::vector<std::pair<std::string, int32_t>> found;
  for (const auto& piece : file.pieces)
    if (piece.kind == Kind::kUserDefined) found.emplace_back(piece.text, 0);
  return found;
}

class SentencePieceNormalizer final : public Normalizer {
 public:
  explicit SentencePieceNormalizer(const SentencePieceFile& file)
      : charsmap_(file.charsmap),
        user_defined_(user_defined_pieces(file)),
        space_(file.escape_whitespaces ? kSpaceMark : " "),
        adds_prefix_(file.add_dummy_prefix),
        removes_extra_(file.remove_extra_whitespaces),
        is_suffix_(file.treat_whitespace_as_suffix) {}

  void apply(SourceText& source) const override {
    std::string_view rest = source.text;
    if (removes_extra_) rest = without_leading_spaces(rest);
    std::string out;
    // Only the input's own start gets a space in front, not what follows an
    // added token.
    const bool adds_space = adds_prefix_ && source.is_at_start && !rest.empty();
    if (adds_space && !is_suffix_) out = space_;
    bool is_after_space = removes_extra_;
    while (!rest.empty()) {
      auto [part, length] = next_part(rest);
      rest.remove_prefix(length);
      while (is_after_space && part.starts_with(' ')) part.remove_prefix(1);
      if (!part.empty()) {
        out.append(replace_literal(part, " ", space_));
        is_after_space = part.ends_with(' ');
      }
      if (!removes_extra_) is_after_space = false;
    }
    if (removes_extra_)
      while (out.ends_with(space_)) out.resize(out.size() - space_.size());
    if (adds_space && is_suffix_) out.append(space_);
    source.text = std::move(out);
  }

 private:
  // What the start of `text` becomes and the bytes it takes. User-defined
  // pieces stay as they are.
  std::pair<std::string_view, size_t> next_part(std::string_view text) const {
    size_t longest = 0;
    user_defined_.for_each_prefix(
        text, [&](size_t length, int32_t) { longest = length; });
    if (longest) return {text.substr(0, longest), longest};
    return charsmap_.longest_prefix(text);
  }

  std::string_view without_leading_spaces(std::string_view text) const {
    while (!text.empty()) {
      const auto [part, length] = next_part(text);
      if (part != " ") break;
      text.remove_prefix(length);
    }
    return text;
  }

  Charsmap charsmap_;
  PrefixTrie user_defined_;
  std::string space_;
  bool adds_prefix_;
  bool removes_extra_;
  bool is_suffix_;
};

// Bytes stay bytes: the caller replaces what a cut character leaves.
class SentencePieceDecoder final : public TokenDecoder {
 public:
  explicit SentencePieceDecoder(const SentencePieceFile& file)
      : unknown_(file.pieces[static_cast<size_t>(file.unk_id)].text),
        unk_surface_(file.unk_surface),
        drops_first_space_(file.add_dummy_prefix ||
                           file.remove_extra_whitespaces),
        drops_all_first_spaces_(file.remove_extra_whitespaces) {
    for (const auto& piece : file.pieces)
      if (piece.kind == Kind::kByte) byte_texts_.push_back(piece.text);
    for (size_t byte = 0; byte < byte_tokens_.size(); ++byte)
      byte_tokens_[byte] = byte_token(static_cast<unsigned char>(byte));
  }

  void apply(std::vector<std::string>& parts) const override {
    bool is_text_empty = true;
    bool has_dropped = false;
    for (std::string& part : parts) {
      const int byte = byte_of(part);
      const bool is_first = is_text_empty && !has_dropped;
      if (byte >= 0) {
        part = std::string(1, static_cast<char>(byte));
      } else if (part == unknown_) {
        part = unk_surface_;
      } else {
        if (is_first && drops_first_space_ && part.starts_with(kSpaceMark)) {
          part.erase(0, std::string_view(kSpaceMark).size());
          has_dropped = !drops_all_first_spaces_;
        }
        part = replace_literal(part, kSpaceMark, " ");
      }
      is_text_empty = is_text_empty && part.empty();
    }
  }

 private:
  int byte_of(const std::string& part) const {
    if (byte_texts_.empty() || part.size() != 6 || !part.starts_with("<0x"))
      return -1;
    for (size_t byte = 0; byte < byte_tokens_.size(); ++byte)
      if (part == byte_tokens_[byte]) return static_cast<int>(byte);
    return -1;
  }

  std::string unknown_;
  std::string unk_surface_;
  bool drops_first_space_;
  bool drops_all_first_spaces_;
  std::vector<std::string> byte_texts_;
  std::array<std::string, 256> byte_tokens_;
};

}  // namespace

std::unique_ptr<Normalizer> make_sentencepiece_normalizer(
    const SentencePieceFile& file) {
  return std::make_unique<SentencePieceNormalizer>(file);
}

std::unique_ptr<TokenDecoder> make_sentencepiece_decoder(
    const SentencePieceFile& file) {
  return std::make_unique<SentencePieceDecoder>(file);
}

}  // namespace titan
