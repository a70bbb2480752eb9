// SPDX-License-Identifier: BSD-3-Clause
// The `pattern` of Split and Replace: {"String": text} or {"Regex": pattern}.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/tokenizer/split_pattern.h"

namespace titan {

class JsonNode;

/// Immutable; any thread may use it.
class TextPattern {
 public:
  /// UserError: neither form, an empty text, or a regular expression that is
  /// refused (see SplitPattern).
  explicit TextPattern(const JsonNode& node);

  /// Appends spans that cover `text`; none is empty.
  void append_matches(std::string_view text,
                      std::vector<MatchSpan>& spans) const;
  std::string replace_all(std::string_view text,
                          std::string_view content) const;

 private:
  std::string literal_;
  std::optional<SplitPattern> regex_;
};

/// Replaces every occurrence of `literal` (not empty), left to right.
std::string replace_literal(std::string_view text,
                            std::string_view literal,
                            std::string_view content);

}  // namespace titan
