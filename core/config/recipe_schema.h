// SPDX-License-Identifier: BSD-3-Clause
// The core's part of the recipe: every section and key with its type, unit,
// default, range and meaning, as data. docs/recipes.md is generated from it.
//   recipe_schema_run.cpp       name, training, optimizer, schedule, ...
//   recipe_schema_inputs.cpp    model, data, validation, generate
//   recipe_schema_machine.cpp   parallel, kernels, plugins, files, metrics
#pragma once

#include "core/config/schema_registry.h"

namespace titan::config {

/// Returns a registry with the core's sections and rules and no component.
SchemaRegistry make_core_registry();

/// Parts of the above, in the order of the reference page.
void add_run_sections(SchemaRegistry& registry);
void add_input_sections(SchemaRegistry& registry);
void add_machine_sections(SchemaRegistry& registry);

}  // namespace titan::config
