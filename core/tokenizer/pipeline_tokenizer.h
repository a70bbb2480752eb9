// SPDX-License-Identifier: BSD-3-Clause
// A tokenizer put together from the parts of tokenizer.json, each by its own
// rules. byte_level_bpe.h does the same faster for the most frequent parts.
#pragma once

#include "core/tokenizer/pre_tokenizer.h"
#include "core/tokenizer/text_tokenizer.h"
#include "core/tokenizer/token_decoder.h"

namespace titan {

struct TokenizerParts {
  TokenizerFrame frame;
  std::unique_ptr<PreTokenizer> pre_tokenizer;  ///< May be null.
  std::unique_ptr<TokenModel> model;
  std::unique_ptr<TokenDecoder> decoder;  ///< Null: tokens with spaces between.
};

class PipelineTokenizer final : public TextTokenizer {
 public:
  explicit PipelineTokenizer(TokenizerParts parts);

  std::string decode(std::span<const int32_t> ids,
                     bool skip_special) const override;
  int64_t vocab_size() const override;
  std::optional<int32_t> token_id(std::string_view token) const override;

 protected:
  void append_section(std::string_view text,
                      bool is_at_start,
                      Scratch& scratch,
                      std::vector<int32_t>& ids) const override;

 private:
  std::unique_ptr<PreTokenizer> pre_tokenizer_;
  std::unique_ptr<TokenModel> model_;
  std::unique_ptr<TokenDecoder> decoder_;
};

}  // namespace titan
