// SPDX-License-Identifier: BSD-3-Clause
// A tokenizer from a SentencePiece model: its own normalizer, BPE by scores and
// decoder; Unigram is unigram_model.h. Ids equal SentencePiece's. Control
// pieces (<s>) are not found in text, unless tokenizer_config.json adds them.
#pragma once

#include <memory>

#include "core/tokenizer/normalizer.h"
#include "core/tokenizer/sentencepiece_file.h"
#include "core/tokenizer/token_decoder.h"
#include "core/tokenizer/token_model.h"
#include "core/tokenizer/tokenizer.h"
#include "core/tokenizer/tokenizer_config.h"

namespace titan {

/// UserError: see resolve_special_tokens.
std::unique_ptr<Tokenizer> make_sentencepiece_tokenizer(
    SentencePieceFile file,
    const TokenizerConfig& config);

/// The parts; `file` outlives the normalizer.
std::unique_ptr<Normalizer> make_sentencepiece_normalizer(
    const SentencePieceFile& file);
std::unique_ptr<TokenDecoder> make_sentencepiece_decoder(
    const SentencePieceFile& file);
std::unique_ptr<TokenModel> make_sentencepiece_bpe(
    const SentencePieceFile& file);

/// The mark of a space inside pieces, U+2581.
inline constexpr const char* kSpaceMark = "\xE2\x96\x81";

}  // namespace titan
