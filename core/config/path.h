// SPDX-License-Identifier: BSD-3-Clause
// Dotted paths: `optimizer.config.lr`, `optimizer.groups[0].match`,
// `kernels."titan.rms_norm/1".use`. Grammar:
//   path = step { "." step | "[" digits "]" }     step = word | quoted string
// Op ids hold dots, so a word that ends in "/<digits>" takes in the words
// before it, back to the section: kernels.titan.rms_norm/1.use means the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace titan::config {

struct PathStep {
  std::string key;
  std::int64_t index = -1;  ///< >= 0: a place in a list, and `key` is empty
};

/// Splits a path; "" is the root. A path that breaks the grammar is a
/// UserError.
std::vector<PathStep> parse_path(std::string_view path);

/// Returns `path` extended by a key, quoted where the grammar needs it.
std::string join_path(std::string_view path, std::string_view key);

}  // namespace titan::config
