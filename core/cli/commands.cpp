// SPDX-License-Identifier: BSD-3-Clause
// The list of commands, in the order of the help.
#include "core/cli/commands.h"

namespace titan::cli {

void add_commands(Command& app, int& exit_code) {
  add_train_command(app, exit_code);
  add_validate_command(app, exit_code);
  add_plan_command(app, exit_code);
  add_generate_command(app, exit_code);
  add_bench_command(app, exit_code);
  add_parity_command(app, exit_code);
  add_config_command(app, exit_code);
  add_checkpoint_command(app, exit_code);
  add_convert_command(app, exit_code);
  add_doctor_command(app, exit_code);
  add_kernels_command(app, exit_code);
  add_plugin_command(app, exit_code);
  add_tokenizer_command(app, exit_code);
  add_data_command(app, exit_code);
}

}  // namespace titan::cli
