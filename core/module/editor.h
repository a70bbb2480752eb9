// SPDX-License-Identifier: BSD-3-Clause
// The host side of titan_editor_api: how a transform plugin edits the tree that
// a model has built.
#pragma once

#include <titan/abi/transform.h>

namespace titan::module {

/// The interface titan.editor/1; one per process.
const titan_editor_api& editor_api();

}  // namespace titan::module
