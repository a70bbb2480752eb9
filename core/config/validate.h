// SPDX-License-Identifier: BSD-3-Clause
// Holds a value against a schema: reports every fault, fills in defaults,
// resolves components and their flavors, substitutes variables in paths.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/config/problem.h"
#include "core/config/schema.h"
#include "core/config/schema_registry.h"

namespace titan::config {

/// What validation needs from its surroundings.
struct ValidationScope {
  const SchemaRegistry* registry = nullptr;  ///< null: no components
  /// Returns the text of `${name}` used at `origin`, or "" if there is no such
  /// variable. Null: paths are left as they are.
  std::function<std::string(const std::string& name, const Origin& origin)>
      variable;
  bool checks_required = true;
  Origin default_origin{Origin::Kind::kDefault, 0, 0, nullptr};
};

/// Returns `value` with defaults filled in; faults are appended to `problems`,
/// and then the result is only good for finding more of them. A null where the
/// schema allows none counts as an absent key. Integers that a number-only key
/// gets become numbers, whole numbers that an integer key gets become integers.
Value validate(const Schema& schema,
               const Value& value,
               const std::string& path,
               const ValidationScope& scope,
               std::vector<Problem>& problems);

/// Validates without components, variables and required keys: flavors
/// and defaults.
void validate_partial(const Schema& schema,
                      const Value& value,
                      const std::string& path,
                      std::vector<Problem>& problems);

}  // namespace titan::config
