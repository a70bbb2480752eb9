// SPDX-License-Identifier: BSD-3-Clause
// The split patterns of well-known models by name, for files that do not hold
// their own (tiktoken's ranks).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace titan {

struct NamedPattern {
  const char* name;
  const char* pattern;  ///< In the dialect of tokenizer.json.
};

/// gpt2, cl100k, llama3, qwen2, o200k. gpt2 is ByteLevel's own.
const std::vector<NamedPattern>& named_patterns();

/// UserError, with the known names: there is no such pattern.
const char* find_named_pattern(std::string_view name);

}  // namespace titan
