// SPDX-License-Identifier: BSD-3-Clause
// tokenizer_config.json and special_tokens_map.json: what they add to a
// tokenizer file. The roles that callers see are in special_tokens.h.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/tokenizer/added_tokens.h"
#include "core/tokenizer/special_tokens.h"

namespace titan {

/// Largest id that a file may use: bounds the tables that a hostile file can
/// make us allocate. 16 times the largest vocabulary known (Gemma's).
inline constexpr int64_t kMaxTokenId = (1 << 22) - 1;

struct TokenizerConfig {
  std::string name;  ///< Path of tokenizer_config.json, for messages.
  SpecialTokens special;
  /// Whether the files speak about the role at all: null is "no such token",
  /// absent is "ask the tokenizer file".
  bool says_bos = false;
  bool says_eos = false;
  std::vector<AddedToken> added_tokens;  ///< added_tokens_decoder.
};

/// Reads both files where they exist. UserError: see read_special_tokens.
TokenizerConfig read_tokenizer_config(const std::filesystem::path& folder);

}  // namespace titan
