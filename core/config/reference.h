// SPDX-License-Identifier: BSD-3-Clause
// The page docs/recipes.md, written from the schema so that it cannot be wrong.
// After a change of the schema: `titan config schema --markdown`.
#pragma once

#include <string>

#include "core/config/schema_registry.h"

namespace titan::config {

/// Returns the whole page: how recipes compose, then every key by group.
std::string write_reference(const Schema& root);

/// Returns "1 to 10", "at least 0", "more than 0", or "" without bounds.
std::string describe_range(const Schema& schema);

}  // namespace titan::config
