// SPDX-License-Identifier: BSD-3-Clause
// The recipe's section `data` as DataOptions, without what other sections and
// the mesh decide (assemble.h, data_options).
#pragma once

#include "core/config/recipe.h"
#include "core/data/options.h"

namespace titan::train {

DataOptions read_data_section(const config::Recipe& recipe);

}  // namespace titan::train
