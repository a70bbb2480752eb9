// SPDX-License-Identifier: BSD-3-Clause
// tiktoken's rank files (*.tiktoken, Llama 3's tokenizer.model): a line per
// token, its bytes in base64, a space and its id, which is also its rank. The
// split pattern is not in the file; it goes by a name.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/tokenizer/byte_level_bpe.h"
#include "core/tokenizer/tokenizer.h"
#include "core/tokenizer/tokenizer_config.h"

namespace titan {

/// UserError (tag `name`): a line is malformed, a token or a rank comes twice,
/// or a byte has no token.
ByteLevelFile parse_tiktoken(std::string_view ranks,
                             const std::string& name,
                             const std::string& pattern);

/// The pattern that a file name stands for, where `chosen` is empty: by
/// cl100k, o200k, r50k, p50k or gpt2 in its name, and llama3 for
/// tokenizer.model. UserError: the name says nothing.
std::string tiktoken_pattern_name(const std::string& file_name,
                                  const std::string& chosen);

/// Adds the pattern's own special tokens where the file is that very
/// vocabulary (by its size) and the config names none.
std::unique_ptr<Tokenizer> make_tiktoken_tokenizer(
    std::string_view ranks,
    const std::string& pattern_name,
    const TokenizerConfig& config,
    const std::string& name);

}  // namespace titan
