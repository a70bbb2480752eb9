// SPDX-License-Identifier: BSD-3-Clause
// The recipe's section `data` as DataOptions, without what other sections and
// the mesh decide (assemble.h, data_options). Which datasets are plugins'.
#pragma once

#include "core/config/recipe.h"
#include "core/data/options.h"
#include "core/plugin/registry.h"

namespace titan::train {

/// `plugins` outlive what is opened with the result.
DataOptions read_data_section(const config::Recipe& recipe,
                              const plugin::PluginRegistry& plugins);

/// Loads the dataset plugins that a recipe names, before its schema is known:
/// they are left alone by load_all, for libraries that they may bring. An id
/// that no file has is left for the recipe's check; one of `core` is built in.
void load_named_datasets(const config::Value& recipe,
                         const config::SchemaRegistry& core,
                         plugin::PluginRegistry& plugins);

}  // namespace titan::train
