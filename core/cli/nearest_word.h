// SPDX-License-Identifier: BSD-3-Clause
// "Did you mean": the known word that a mistyped one most likely stands for.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace titan::cli {

/// Returns the word of `known` with the fewest edits from `word`, or nothing
/// when none is near enough to be a likely slip (a third of its length).
std::optional<std::string> nearest_word(std::string_view word,
                                        std::span<const std::string> known);

}  // namespace titan::cli
