// SPDX-License-Identifier: BSD-3-Clause
// Values as YAML for people, and one key explained.
#pragma once

#include <string>

#include "core/config/recipe.h"

namespace titan::config {

/// Returns block-style YAML that parses back to an equal value; with origins,
/// each scalar and list has a comment that says where it came from.
std::string to_yaml(const Value& value, bool with_origins = false);

/// Returns the schema of a key of a resolved recipe, that of the component in
/// use below `config`, or null.
const Schema* find_schema(const SchemaRegistry& registry,
                          const Value& root,
                          const std::string& path);

/// Returns lines on the key `path`: value, origin, type, unit, default, range,
/// choices, meaning. UserError for a key that does not exist.
std::string explain_key(const Recipe& recipe,
                        const SchemaRegistry& registry,
                        const std::string& path);

}  // namespace titan::config
