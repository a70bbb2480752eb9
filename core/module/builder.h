// SPDX-License-Identifier: BSD-3-Clause
// The host side of titan_builder_api: what a model plugin's `build` writes
// into.
#pragma once

#include <titan/abi.h>

#include "core/module/tree.h"

namespace titan::module {

/// The table that plugins call; one per process.
const titan_builder_api& builder_api();

/// `tree` as the opaque builder of the ABI, for the duration of `build`.
inline titan_builder* as_builder(ModuleTree& tree) {
  return reinterpret_cast<titan_builder*>(&tree);
}
/// The way back.
inline ModuleTree& tree_of(titan_builder* builder) {
  return *reinterpret_cast<ModuleTree*>(builder);
}

}  // namespace titan::module
