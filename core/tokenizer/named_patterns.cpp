// SPDX-License-Identifier: BSD-3-Clause
// Sources: openai/tiktoken tiktoken_ext/openai_public.py (gpt2, cl100k_base,
// o200k_base); meta-llama/llama-models tokenizer.py; Qwen2's tokenizer.json.
// Possessive quantifiers are written plainly where they cannot matter, and the
// end of the text, $, as (?![\s\S]).
#include "core/tokenizer/named_patterns.h"

#include <titan/error.h>

#include "core/tokenizer/pre_tokenizer.h"

namespace titan {

const std::vector<NamedPattern>& named_patterns() {
  // clang-format off
  static const std::vector<NamedPattern> patterns = {
      {"gpt2", kGpt2Pattern},
      {"cl100k",
       R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})"
       R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+(?![\s\S])|\s*[\r\n]|\s+(?!\S)|\s+)"},
      {"llama3",
       R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})"
       R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
      {"qwen2",
       R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})"
       R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
      {"o200k",
       R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*)"
       R"([\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
       R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+)"
       R"([\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
       R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
  };
  // clang-format on
  return patterns;
}

const char* find_named_pattern(std::string_view name) {
  std::string known;
  for (const NamedPattern& pattern : named_patterns()) {
    if (pattern.name == name) return pattern.pattern;
    known += text(known.empty() ? "" : ", ", pattern.name);
  }
  throw UserError(
      text("[tokenizer] split pattern: expected ", known, ", got ", name));
}

}  // namespace titan
