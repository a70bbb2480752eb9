// SPDX-License-Identifier: BSD-3-Clause
#include "core/cli/recipe_registry.h"

#include "core/config/recipe_schema.h"

namespace titan::cli {

config::SchemaRegistry make_recipe_registry(
    const config::Composition& composition) {
  config::SchemaRegistry registry = config::make_core_registry();
  // A `plugins` section with a fault is reported before anything is loaded.
  config::resolve_section(composition, registry, "plugins");
  return registry;
}

config::Recipe load_recipe_for_command(
    const std::string& file,
    const std::vector<std::string>& overrides) {
  const config::SchemaRegistry core = config::make_core_registry();
  config::Composition composition =
      config::compose_recipe(file, overrides, core.root());
  const config::SchemaRegistry registry = make_recipe_registry(composition);
  return config::resolve_recipe(std::move(composition), registry);
}

}  // namespace titan::cli
