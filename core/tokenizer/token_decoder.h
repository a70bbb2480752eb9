// SPDX-License-Identifier: BSD-3-Clause
// What tokenizer.json calls decoders: token texts to the text they stand for.
// Families live in byte_decoders.cpp and word_decoders.cpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace titan {

class JsonNode;

/// Immutable; any thread may use it.
class TokenDecoder {
 public:
  virtual ~TokenDecoder() = default;
  /// Rewrites the parts; joined, the result of the last decoder is the text.
  /// Only the last may leave bytes that are not UTF-8.
  virtual void apply(std::vector<std::string>& parts) const = 0;
};

/// Reads a decoder; null for a null node. UserError: it is not implemented or
/// malformed.
std::unique_ptr<TokenDecoder> read_token_decoder(const JsonNode& node);

/// The families: null where the node's type is of another one.
std::unique_ptr<TokenDecoder> read_byte_decoder(const JsonNode& node);
std::unique_ptr<TokenDecoder> read_word_decoder(const JsonNode& node);

/// ByteFallback by itself, for SentencePiece models.
std::unique_ptr<TokenDecoder> make_byte_fallback_decoder();

}  // namespace titan
