// SPDX-License-Identifier: BSD-3-Clause
// Reads tokenizer.json (Hugging Face `tokenizers`) and chooses the
// implementation that fits it.
#pragma once

#include <filesystem>
#include <memory>

#include "core/tokenizer/text_tokenizer.h"
#include "core/tokenizer/tokenizer.h"
#include "core/tokenizer/tokenizer_config.h"

namespace titan {

class JsonFile;

/// Which implementation a file may get.
enum class TokenizerChoice {
  kFastest,
  kPipeline,  ///< Never the byte-level shortcut: what tests compare it with.
};

/// UserError: the file is malformed or asks for what is not implemented.
std::unique_ptr<Tokenizer> read_tokenizer_json(
    const JsonFile& file,
    const TokenizerConfig& config,
    TokenizerChoice choice = TokenizerChoice::kFastest);

/// Puts a frame together: merges the config's tokens into `added`, gives roles
/// their ids, and lets the config's add_bos_token and add_eos_token, where it
/// has them, decide whether the template has BOS and EOS. UserError: see
/// merge_config_tokens and resolve_special_tokens.
TokenizerFrame make_frame(const TokenizerConfig& config,
                          const TokenTable& model,
                          std::vector<AddedToken> added,
                          std::unique_ptr<Normalizer> normalizer,
                          TokenTemplate around);

/// Gives the roles of `config` their ids. Where the files say nothing about BOS
/// or EOS, it is the token that the template puts there, if it puts exactly
/// one. UserError: BOS or EOS has no id.
SpecialTokens resolve_special_tokens(const TokenizerConfig& config,
                                     const TokenTemplate& around,
                                     const TokenTable& model,
                                     const std::vector<AddedToken>& added);

}  // namespace titan
