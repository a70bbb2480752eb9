// SPDX-License-Identifier: BSD-3-Clause
// Text to token ids and back. The interface that data, generation and
// evaluation see; which algorithm runs behind it is the tokenizer file's choice
// (see load.cpp). Next: byte_level_bpe.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/tokenizer/special_tokens.h"

namespace titan {

/// Immutable after loading: every method may be called from any thread.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Returns the ids of `text`. Special tokens written out in the text become
  /// their ids, as in Hugging Face `tokenizers`. The flags, and nothing else,
  /// decide about BOS and EOS: the file's template is not applied. `add_bos`
  /// makes the result begin with exactly one BOS (none is added where the text
  /// itself starts with it), `add_eos` makes it end with exactly one EOS.
  /// UserError: a flag asks for a token that the tokenizer does not have, or
  /// the text is not UTF-8 (message gives the byte offset) and the tokenizer
  /// does not accept any bytes.
  std::vector<int32_t> encode(std::string_view text,
                              bool add_bos,
                              bool add_eos) const;

  /// Returns the ids of `text` inside the file's own post-processing template:
  /// what `tokenizers` calls add_special_tokens=True.
  virtual std::vector<int32_t> encode_with_template(
      std::string_view text) const = 0;

  /// Returns the bytes that `ids` stand for: not UTF-8 when the ids cut a
  /// character in two. An id without a token (a model may have more logits
  /// than tokens) becomes U+FFFD. `skip_special` leaves special tokens out.
  virtual std::string decode(std::span<const int32_t> ids,
                             bool skip_special = false) const = 0;

  /// One more than the largest id: every id of encode() is below it.
  virtual int64_t vocab_size() const = 0;
  std::optional<int> bos_id() const;
  std::optional<int> eos_id() const;
  /// The tokens that have a role, with their ids where they have one.
  const SpecialTokens& special_tokens() const { return special_tokens_; }
  /// The id of the token with exactly this text, added and special ones too.
  virtual std::optional<int32_t> token_id(std::string_view token) const = 0;
  /// Whether encode() takes bytes that are not UTF-8.
  virtual bool accepts_any_bytes() const = 0;

 protected:
  /// Appends the ids of `text` alone, without BOS, EOS or template.
  virtual void append_ids(std::string_view text,
                          std::vector<int32_t>& ids) const = 0;

  SpecialTokens special_tokens_;
};

/// Loads a tokenizer. `spec` is "bytes" (ids 0 to 255, no special tokens), a
/// file or a folder with one: tokenizer.json, a SentencePiece .model, or
/// tiktoken's ranks, the latter with its split pattern behind it where the name
/// does not say it ("ranks.tiktoken#llama3"). tokenizer_config.json and
/// special_tokens_map.json beside it are honoured (special_tokens.h).
/// UserError: a file is missing or malformed, or uses a component that is not
/// implemented (the message names it; nothing is approximated).
std::unique_ptr<Tokenizer> load_tokenizer(const std::string& spec);

}  // namespace titan
