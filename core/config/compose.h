// SPDX-License-Identifier: BSD-3-Clause
// The layers of a recipe, before validation: files named by `extends` (in
// order, relative to the file that names them), the file itself, then --set.
// Precedence rises in that order; merge.h says how layers meet.
#pragma once

#include <string>
#include <vector>

#include "core/config/schema.h"

namespace titan::config {

struct Composition {
  Value root;        ///< merged, without `extends`
  std::string file;  ///< the recipe as it was named
  std::string name;  ///< the file's name without folder and extension
  std::vector<std::string> files;  ///< every file read, in order of first use
};

/// Reads and merges. `overrides` are the texts of --set: "a.b=value", where
/// text that starts with one of [ { ' " is YAML and all other text one plain
/// YAML scalar; later ones win; nothing after '=' is null. `schema` is the
/// core's, for shorthands. Throws UserError.
Composition compose_recipe(const std::string& file,
                           const std::vector<std::string>& overrides,
                           const Schema& schema);

}  // namespace titan::config
