// SPDX-License-Identifier: BSD-3-Clause
// "Did you mean": the most useful part of an error about a name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace titan::config {

/// Edits (insert, delete, replace, swap of neighbours) between two words, after
/// lower-casing and taking '-' for '_'.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Returns the word of `options` nearest to `word`, or "" if none is near.
std::string nearest(std::string_view word,
                    const std::vector<std::string>& options);

/// Returns one sentence for an unknown key `section.key`: the nearest key of
/// the section, or where the key does belong, or which keys there are.
/// `all_paths` are the paths of every key with a fixed place.
std::string suggest_key(std::string_view section,
                        std::string_view key,
                        const std::vector<std::string>& section_keys,
                        const std::vector<std::string>& all_paths);

}  // namespace titan::config
