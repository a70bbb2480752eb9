// SPDX-License-Identifier: BSD-3-Clause
// Pieces of JSON Schema that several models have, and how pieces become one
// text: the schema is a constant, because the plugin's note carries it.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace titan::layers {

template <const std::string_view&... kPieces>
inline constexpr auto kJoinedText = [] {
  std::array<char, (kPieces.size() + ...)> out{};
  auto* at = out.data();
  ((at = std::copy(kPieces.begin(), kPieces.end(), at)), ...);
  return out;
}();

/// The pieces one after the other.
template <const std::string_view&... kPieces>
inline constexpr std::string_view kJoined{kJoinedText<kPieces...>.data(),
                                          kJoinedText<kPieces...>.size()};

/// Properties of rope.scaling after `factor` and `original_max_position`, whose
/// defaults are a family's own; see read_rope.
inline constexpr std::string_view kRopeScalingSchema = R"json(
    "type": {"type": "string", "default": "none",
      "enum": ["none", "llama", "linear", "yarn"],
      "description": "How frequencies are stretched to longer contexts"},
    "low_freq_factor": {"type": "number", "default": 1, "exclusiveMinimum": 0,
      "description": "llama: wavelengths above original / this are stretched"},
    "high_freq_factor": {"type": "number", "default": 4, "exclusiveMinimum": 0,
      "description": "llama: wavelengths below original / this are kept"},
    "beta_fast": {"type": "number", "default": 32, "exclusiveMinimum": 0,
      "description": "yarn: rotations above which a frequency is kept"},
    "beta_slow": {"type": "number", "default": 1, "exclusiveMinimum": 0,
      "description": "yarn: rotations below which it is stretched fully"},
    "truncate": {"type": "boolean", "default": true,
      "description": "yarn: round the ramp's bounds to whole dimensions"},
    "attention_factor": {"type": ["number", "null"], "default": null,
      "exclusiveMinimum": 0,
      "description": "yarn: factor of q and k; null = 0.1 ln(factor) + 1"}
)json";

}  // namespace titan::layers
