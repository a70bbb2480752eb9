// SPDX-License-Identifier: BSD-3-Clause
// BPE over characters with everything tokenizer.json can ask of it: unknown
// and byte tokens, a prefix inside words and a suffix at their end. Files whose
// alphabet is bytes take the faster byte_level_bpe.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/tokenizer/token_model.h"

namespace titan {

/// A BPE model as its file describes it.
struct BpeFile {
  struct Merge {
    int32_t left;
    int32_t right;
    int32_t merged;
  };

  TokenTable tokens;
  std::vector<Merge> merges;  ///< By rank.
  std::optional<std::string> unk_token;
  std::string continuing_subword_prefix;
  std::string end_of_word_suffix;
  bool fuse_unk = false;
  bool byte_fallback = false;
  bool ignore_merges = false;
};

/// UserError: not a BPE model, dropout, or a merge of tokens that do not exist.
BpeFile read_bpe_file(const JsonNode& node);

class BpeModel final : public TokenModel {
 public:
  explicit BpeModel(BpeFile file);
  void append_ids(std::string_view piece,
                  ModelScratch& scratch,
                  std::vector<int32_t>& ids) const override;

 private:
  std::optional<int32_t> find_symbol(std::string_view character,
                                     bool is_first,
                                     bool is_last) const;
  bool append_bytes(std::string_view character,
                    bool is_first,
                    bool is_last,
                    std::vector<int32_t>& symbols) const;
  std::string decorate(std::string_view character,
                       bool is_first,
                       bool is_last) const;
  void append_symbols(std::string_view piece,
                      std::vector<int32_t>& symbols) const;
  int32_t unknown() const;

  MergeTable merges_;
  std::array<int32_t, 256> byte_ids_;
  std::optional<std::string> unk_token_;
  std::string prefix_;
  std::string suffix_;
  bool fuse_unk_;
  bool byte_fallback_;
  bool ignore_merges_;
};

/// Merges by rank into the table that merging looks pairs up in.
MergeTable make_merge_table(const std::vector<BpeFile::Merge>& merges);

}  // namespace titan
