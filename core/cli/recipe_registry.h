// SPDX-License-Identifier: BSD-3-Clause
// What a recipe may say on this machine: the core's schema and the components
// of the plugins that the recipe's `plugins` section lets Titan find. One
// place, so that every command that reads a recipe agrees.
#pragma once

#include <string>
#include <vector>

#include "core/config/recipe.h"

namespace titan::cli {

/// Returns the registry for a recipe that is composed but not yet validated.
config::SchemaRegistry make_recipe_registry(
    const config::Composition& composition);

/// Composes, finds the registry, validates. Throws UserError.
config::Recipe load_recipe_for_command(
    const std::string& file,
    const std::vector<std::string>& overrides);

}  // namespace titan::cli
