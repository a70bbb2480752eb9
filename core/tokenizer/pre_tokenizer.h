// SPDX-License-Identifier: BSD-3-Clause
// What tokenizer.json calls pre-tokenizers: they cut a text into the pieces
// that the model sees one by one. Families live in pattern_splits.cpp
// (patterns and byte level), character_splits.cpp (classes of characters) and
// script_split.cpp; pre_tokenizer.cpp chooses.
#pragma once

#include <memory>
#include <string>

#include "core/tokenizer/pieces.h"

namespace titan {

class JsonNode;

/// Immutable; any thread may use it with its own PieceList.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void apply(PieceList& list) const = 0;
};

/// Reads a pre-tokenizer; null for a null node. UserError: it is not
/// implemented or malformed.
std::unique_ptr<PreTokenizer> read_pre_tokenizer(const JsonNode& node);

/// The families: null where the node's type is of another one.
std::unique_ptr<PreTokenizer> read_pattern_split(const JsonNode& node);
std::unique_ptr<PreTokenizer> read_character_split(const JsonNode& node);
std::unique_ptr<PreTokenizer> make_script_split();

/// Reads the name of a behavior.
SplitBehavior read_behavior(const JsonNode& node);
/// Reads a string of exactly one character.
std::string read_character(const JsonNode& node);

/// What Metaspace says as a pre-tokenizer and, in the same form, as a decoder.
struct MetaspaceForm {
  std::string mark;    ///< One character, in place of a space.
  std::string scheme;  ///< always, first or never: where it is prepended.
  bool splits = true;
};
MetaspaceForm read_metaspace(const JsonNode& node);

/// GPT-2's pattern, from its encoder.py: ByteLevel's own (use_regex: true).
extern const char* const kGpt2Pattern;

}  // namespace titan
