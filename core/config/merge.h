// SPDX-License-Identifier: BSD-3-Clause
// How two layers of a recipe become one: maps merge key by key, everything else
// (lists too) is replaced, null replaces as well. A map, a list and a scalar
// never replace one another: that is a mistake in a layer, not an override.
#pragma once

#include <string>
#include <vector>

#include "core/config/problem.h"
#include "core/config/schema.h"

namespace titan::config {

/// Lays `over` on `base`; changes of type are appended to `problems`.
void merge_into(Value& base,
                const Value& over,
                const std::string& path,
                std::vector<Problem>& problems);

/// Returns {schema.shorthand: value} for a string `value`.
Value expand_shorthand(const Schema& schema, const Value& value);

/// Expands shorthands wherever the schema has them, so that `precision: bf16`
/// and `precision: {use: bf16}` merge.
void expand_shorthands(const Schema& schema, Value& value);

/// Sets the value at a path as `--set` does: maps on the way are made, list
/// items must exist. A map merges with what is there.
void set_at_path(Value& root,
                 const std::string& path,
                 const Value& value,
                 std::vector<Problem>& problems);

}  // namespace titan::config
