// SPDX-License-Identifier: BSD-3-Clause
#include "core/config/recipe_schema.h"

#include "core/config/recipe_rules.h"

namespace titan::config {

SchemaRegistry make_core_registry() {
  SchemaRegistry registry;
  add_input_sections(registry);
  add_run_sections(registry);
  add_machine_sections(registry);
  add_core_rules(registry);
  return registry;
}

}  // namespace titan::config
