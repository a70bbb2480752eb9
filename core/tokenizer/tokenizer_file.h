// SPDX-License-Identifier: BSD-3-Clause
// What tokenizer.json and tokenizer_config.json say, checked and without JSON.
// Files are untrusted: every id is in range, every reference resolves, and a
// component that is not implemented is refused by name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/tokenizer/added_tokens.h"
#include "core/tokenizer/tokenizer_config.h"

namespace titan {

/// A byte-level BPE tokenizer as its files describe it.
struct TokenizerFile {
  struct Merge {
    int32_t left;
    int32_t right;
    int32_t merged;
  };

  std::string name;  ///< Path of tokenizer.json, for messages.
  std::vector<std::pair<std::string, int32_t>> vocabulary;
  std::vector<Merge> merges;  ///< By rank.
  bool ignore_merges = false;
  std::vector<AddedToken> added_tokens;
  std::vector<std::string> split_patterns;  ///< Applied one after the other.
  std::vector<int32_t> template_before;     ///< Ids that the template puts
  std::vector<int32_t> template_after;      ///< around a single text.
  SpecialTokens special;
};

/// Reads tokenizer.json of `folder` and the files of tokenizer_config.h. Where
/// those say nothing about BOS or EOS, it is the token that the template puts
/// there, if it puts exactly one.
/// UserError: see load_tokenizer.
TokenizerFile read_tokenizer_folder(const std::filesystem::path& folder);

}  // namespace titan
