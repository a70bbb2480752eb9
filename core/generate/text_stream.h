// SPDX-License-Identifier: BSD-3-Clause
// Tokens to text while they are made. A token may end in the middle of a
// character: its bytes wait here, so that a terminal sees whole characters. And
// what a token decodes to may depend on the one before (a first space that is
// dropped), so each is decoded behind those shown last.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/tokenizer/tokenizer.h"

namespace titan::generate {

class TextStream {
 public:
  /// `tokenizer` outlives the stream.
  explicit TextStream(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  /// Adds a token and returns what can be shown now; maybe nothing. Bytes that
  /// no following byte can make a character are passed on as they are.
  std::string push(int64_t token);
  /// Returns what still waits: the beginning of a character, or nothing.
  std::string finish();

 private:
  std::string take_new_text();

  const Tokenizer& tokenizer_;
  std::vector<int32_t> ids_;  // The context, then what is not shown yet.
  size_t num_context_ids_ = 0;
  std::string waiting_;
};

/// Bytes at the end of `text` that begin a UTF-8 character and lack its rest.
size_t unfinished_utf8_bytes(std::string_view text);

}  // namespace titan::generate
