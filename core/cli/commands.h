// SPDX-License-Identifier: BSD-3-Clause
// The commands of `titan`, one file each. A command's file defines
// `add_<name>_command`, which adds a subcommand with its options and help; the
// subcommand's callback does the work and stores the process's exit code.
// Errors are thrown, not printed: `run_titan` turns them into text and code.
#pragma once

#include "core/cli/command.h"

namespace titan::cli {

// One line per command, in the order of the help, with the call in
// commands.cpp.
void add_config_command(Command& app, int& exit_code);
void add_checkpoint_command(Command& app, int& exit_code);
void add_convert_command(Command& app, int& exit_code);
void add_train_command(Command& app, int& exit_code);
void add_validate_command(Command& app, int& exit_code);
void add_plan_command(Command& app, int& exit_code);
void add_generate_command(Command& app, int& exit_code);
void add_bench_command(Command& app, int& exit_code);
void add_parity_command(Command& app, int& exit_code);
void add_doctor_command(Command& app, int& exit_code);
void add_kernels_command(Command& app, int& exit_code);
void add_plugin_command(Command& app, int& exit_code);
void add_tokenizer_command(Command& app, int& exit_code);
void add_data_command(Command& app, int& exit_code);

/// `titan plugin test`, a command of `plugin`.
void add_plugin_test(Command& plugin, int& exit_code);

/// `titan tokenizer render`, a command of `tokenizer`.
void add_tokenizer_render(Command& tokenizer, int& exit_code);

/// Adds every command to `app`. `exit_code` outlives `app`.
void add_commands(Command& app, int& exit_code);

}  // namespace titan::cli
