// SPDX-License-Identifier: BSD-3-Clause
// What tokenizer.json calls post-processors, as far as ids are concerned: the
// special tokens around a single text.
#pragma once

#include <cstdint>
#include <vector>

namespace titan {

class JsonNode;

struct TokenTemplate {
  std::vector<int32_t> before;
  std::vector<int32_t> after;
};

/// Reads TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel or a
/// Sequence of them; empty for a null node. UserError: another one, or a
/// template that does not hold its text exactly once.
TokenTemplate read_post_processor(const JsonNode& node);

}  // namespace titan
