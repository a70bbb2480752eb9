// SPDX-License-Identifier: BSD-3-Clause
// What tokenizer.json and tokenizer_config.json say, checked and without JSON.
// Files are untrusted: every id is in range, every reference resolves, and a
// component that is not implemented is refused by name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/tokenizer/added_tokens.h"

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
  std::optional<int32_t> bos_id;
  std::optional<int32_t> eos_id;
};

/// Largest id that a file may use: bounds the tables that a hostile file can
/// make us allocate. 64 times the largest vocabulary known (o200k).
inline constexpr int64_t kMaxTokenId = (1 << 24) - 1;

/// Reads both files of `folder`. bos_token and eos_token come from
/// tokenizer_config.json (text, or object with content; null: none); where the
/// key is missing, from the template if it puts exactly one token there.
/// UserError: see load_tokenizer.
TokenizerFile read_tokenizer_folder(const std::filesystem::path& folder);

}  // namespace titan
