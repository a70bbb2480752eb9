// SPDX-License-Identifier: BSD-3-Clause
// What loaded plugins add to the language of recipes: the `config` schema of
// each component, and the flavors of models. The host's ABI table is only read.
#pragma once

#include <string_view>

#include "core/config/schema_registry.h"
#include "core/plugin/registry.h"

namespace titan::plugin {

/// The schema of a component's `config`; of no keys where it declares none.
std::string_view recipe_schema(const Component& component);

/// Adds one component. UserError 507 for a schema or flavor that cannot be
/// meant.
void add_recipe_component(const Component& component,
                          config::SchemaRegistry& registry);

/// Adds every loaded component, and the datasets that wait for a recipe to name
/// them (registry.h): a recipe may, and hints to the nearest id know them.
void add_recipe_components(const PluginRegistry& plugins,
                           config::SchemaRegistry& registry);

}  // namespace titan::plugin
