// SPDX-License-Identifier: BSD-3-Clause
#include "core/cli/session_options.h"

namespace titan::cli {

void add_plugin_options(Command& command, train::SessionOptions& options) {
  command
      .add_option(
          "--plugin", options.plugin_files, "load this plugin; repeatable")
      ->one_value_each()
      ->type_name("FILE")
      ->from_working_folder();
  command
      .add_option("--plugin-path",
                  options.plugin_folders,
                  "search this folder for plugins; repeatable")
      ->one_value_each()
      ->type_name("DIR")
      ->from_working_folder();
}

void add_session_options(Command& command, train::SessionOptions& options) {
  command
      .add_option("--set",
                  options.overrides,
                  "KEY=VALUE: override a key of the recipe; repeatable")
      ->one_value_each()
      ->type_name("KEY=VALUE");
  add_plugin_options(command, options);
}

}  // namespace titan::cli
