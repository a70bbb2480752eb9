// SPDX-License-Identifier: BSD-3-Clause
// The tokens that have a role (begin, end, padding, ...), as
// tokenizer_config.json and special_tokens_map.json name them. Chat templates
// and generation take their texts and ids from here:
//
//   const auto tokenizer = titan::load_tokenizer(folder);
//   const titan::SpecialTokens& special = tokenizer->special_tokens();
//   if (special.eos) use(special.eos->content, special.eos->id);
//   tokenizer->token_id("<|eot_id|>");  // any token, by its text
//
// Forms that are understood, for each role: a string, an AddedToken object
// ({"content": ...}), null or absent (no such token). Further:
// "additional_special_tokens" and "extra_special_tokens" (a list, or an object
// from names to tokens), "added_tokens_decoder" (tokens by id, added to those
// of tokenizer.json), "add_bos_token" and "add_eos_token".
// As in transformers: a config without "added_tokens_decoder" is an old one,
// and special_tokens_map.json decides where both name a role; in a newer one
// the config alone decides.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace titan {

struct SpecialToken {
  std::string content;
  /// Absent where the tokenizer has no such token (transformers would append
  /// it to the vocabulary); bos and eos always have one.
  std::optional<int32_t> id;
};

struct SpecialTokens {
  std::optional<SpecialToken> bos;
  std::optional<SpecialToken> eos;
  std::optional<SpecialToken> unk;
  std::optional<SpecialToken> sep;
  std::optional<SpecialToken> pad;
  std::optional<SpecialToken> cls;
  std::optional<SpecialToken> mask;
  std::vector<SpecialToken> additional;
  /// What the file says; whether ids get a BOS is the caller's flag.
  std::optional<bool> add_bos_token;
  std::optional<bool> add_eos_token;
};

/// Reads the two files of `folder` alone, without the tokenizer: no token has
/// an id. All empty where neither file exists. UserError: a file is malformed.
SpecialTokens read_special_tokens(const std::filesystem::path& folder);

}  // namespace titan
