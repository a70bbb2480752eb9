// SPDX-License-Identifier: BSD-3-Clause
#include "core/tokenizer/sentencepiece_tokenizer.h"

#include <algorithm>
#include <limits>

#include "core/tokenizer/pipeline_tokenizer.h"
#include "core/tokenizer/tokenizer_json.h"
#include "core/tokenizer/unigram_model.h"

namespace titan {
namespace {

using Kind = SentencePieceFile::Kind;

// A user-defined piece always wins: its score is its length times the best
// one, less 0.1 (unigram_model.cc).
UnigramFile to_unigram_file(const SentencePieceFile& file) {
  float best = std::numeric_limits<float>::lowest();
  for (const auto& piece : file.pieces)
    if (piece.kind == Kind::kNormal) best = std::max(best, piece.score);
  UnigramFile out;
  out.unk_id = static_cast<int32_t>(file.unk_id);
  out.byte_fallback = file.byte_fallback;
  out.is_sentencepiece = true;
  for (const auto& piece : file.pieces) {
    const bool is_user_defined = piece.kind == Kind::kUserDefined;
    const double score =
        is_user_defined ? static_cast<double>(
                              static_cast<float>(piece.text.size()) * best) -
                              0.1
                        : piece.score;
    out.tokens.push_back({piece.text,
                          score,
                          piece.kind == Kind::kNormal || is_user_defined,
                          piece.kind == Kind::kNormal});
  }
  return out;
}

// Control pieces decode as special tokens, but text does not spell them.
std::vector<AddedToken> control_tokens(const SentencePieceFile& file) {
  std::vector<AddedToken> tokens;
  for (size_t id = 0; id < file.pieces.size(); ++id) {
    const auto& piece = file.pieces[id];
    if (piece.kind != Kind::kControl) continue;
    AddedToken token;
    token.id = static_cast<int32_t>(id);
    token.content = piece.text;
    token.special = true;
    token.is_written = false;
    tokens.push_back(std::move(token));
  }
  return tokens;
}

std::optional<SpecialToken> role(const SentencePieceFile& file, int64_t id) {
  if (id < 0) return std::nullopt;
  return SpecialToken{file.pieces[static_cast<size_t>(id)].text,
                      static_cast<int32_t>(id)};
}

}  // namespace

std::unique_ptr<Tokenizer> make_sentencepiece_tokenizer(
    SentencePieceFile file,
    const TokenizerConfig& config) {
  TokenizerParts parts;
  if (file.is_bpe)
    parts.model = make_sentencepiece_bpe(file);
  else
    parts.model = std::make_unique<UnigramModel>(to_unigram_file(file));
  parts.decoder = make_sentencepiece_decoder(file);
  TokenizerConfig known = config;
  if (!known.says_bos) known.special.bos = role(file, file.bos_id);
  if (!known.says_eos) known.special.eos = role(file, file.eos_id);
  known.says_bos = known.says_eos = true;
  if (!known.special.unk) known.special.unk = role(file, file.unk_id);
  if (!known.special.pad) known.special.pad = role(file, file.pad_id);
  parts.frame = make_frame(known,
                           parts.model->tokens(),
                           control_tokens(file),
                           make_sentencepiece_normalizer(file),
                           TokenTemplate{});
  return std::make_unique<PipelineTokenizer>(std::move(parts));
}

}  // namespace titan
