// SPDX-License-Identifier: BSD-3-Clause
// The options of every command that opens a recipe, so that they read alike.
#pragma once

#include "core/cli/command.h"
#include "core/train/session.h"

namespace titan::cli {

/// Adds --set, --plugin and --plugin-path. `options` outlives the command.
void add_session_options(Command& command, train::SessionOptions& options);

/// Adds --plugin and --plugin-path alone: for commands without a recipe.
void add_plugin_options(Command& command, train::SessionOptions& options);

}  // namespace titan::cli
