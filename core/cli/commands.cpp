// SPDX-License-Identifier: BSD-3-Clause
// The list of commands, in the order of the help.
#include "core/cli/commands.h"

namespace titan::cli {

void add_commands([[maybe_unused]] CLI::App& app,
                  [[maybe_unused]] int& exit_code) {}

}  // namespace titan::cli
