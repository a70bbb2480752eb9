// SPDX-License-Identifier: BSD-3-Clause
// The options of every command that opens a recipe, so that they read alike.
#pragma once

#include "core/train/session.h"

namespace CLI {
class App;
}

namespace titan::cli {

/// Adds --set, --plugin and --plugin-path. `options` outlives the command.
void add_session_options(CLI::App& command, train::SessionOptions& options);

/// Adds --plugin and --plugin-path alone: for commands without a recipe.
void add_plugin_options(CLI::App& command, train::SessionOptions& options);

}  // namespace titan::cli
