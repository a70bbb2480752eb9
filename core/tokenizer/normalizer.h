// SPDX-License-Identifier: BSD-3-Clause
// What tokenizer.json calls normalizers: text to text, before any splitting.
// Families live in unicode_normalizers.cpp, edit_normalizers.cpp and
// charsmap.cpp; normalizer.cpp chooses.
#pragma once

#include <memory>
#include <string>

namespace titan {

class JsonNode;

/// A text on its way through the normalizers.
struct SourceText {
  std::string text;
  /// Whether its first character stems from the very start of the input, which
  /// Metaspace's "first" asks for.
  bool is_at_start = true;
};

/// Immutable; any thread may use it.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  /// Rewrites `source`: well-formed UTF-8 before and after.
  virtual void apply(SourceText& source) const = 0;
};

/// Reads a normalizer; null for a null node. UserError: it is not implemented
/// or malformed.
std::unique_ptr<Normalizer> read_normalizer(const JsonNode& node);

/// The families: null where the node's type is of another one.
std::unique_ptr<Normalizer> read_unicode_normalizer(const JsonNode& node);
std::unique_ptr<Normalizer> read_edit_normalizer(const JsonNode& node);

}  // namespace titan
