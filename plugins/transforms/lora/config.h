// SPDX-License-Identifier: BSD-3-Clause
// What a recipe says of low-rank adapters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <titan/sdk/config.hpp>

namespace titan::lora {

inline constexpr std::string_view kConfigSchema = R"json({
"type": "object", "additionalProperties": false, "properties": {
"rank": {"type": "integer", "default": 8, "minimum": 1,
  "description": "Rank of the update: rows of A, columns of B"},
"alpha": {"type": "number", "default": 16, "exclusiveMinimum": 0,
  "description": "The update is scaled by alpha / rank"},
"use_rslora": {"type": "boolean", "default": false,
  "description": "Scale by alpha / sqrt(rank) instead"},
"use_dora": {"type": "boolean", "default": false,
  "description": "Train also the length of each row of the weight (DoRA)"},
"targets": {"type": "array", "items": {"type": "string"}, "minItems": 1, "default": ["**"],
  "description": "Globs over the names of linear layers, such as layers.*.attention.**; the head is never adapted"},
"dropout": {"type": "number", "default": 0, "minimum": 0, "maximum": 1,
  "description": "Only 0: dropout of an adapter's input is not executed"}
}})json";

struct LoraConfig {
  explicit LoraConfig(const Config& config);

  int64_t rank;
  double alpha;
  bool use_rslora;
  bool use_dora;
  std::vector<std::string> targets;

  double scale() const;
};

}  // namespace titan::lora
