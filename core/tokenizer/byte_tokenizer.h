// SPDX-License-Identifier: BSD-3-Clause
// The tokenizer without a file: token id = byte value. For tests, byte-level
// models and any text that is not UTF-8.
#pragma once

#include "core/tokenizer/tokenizer.h"

namespace titan {

class ByteTokenizer final : public Tokenizer {
 public:
  std::vector<int32_t> encode_with_template(
      std::string_view text) const override;
  std::string decode(std::span<const int32_t> ids,
                     bool skip_special) const override;
  int64_t vocab_size() const override { return 256; }
  std::optional<int32_t> token_id(std::string_view token) const override;
  bool accepts_any_bytes() const override { return true; }

 protected:
  void append_ids(std::string_view text,
                  std::vector<int32_t>& ids) const override;
};

}  // namespace titan
