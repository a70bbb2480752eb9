// SPDX-License-Identifier: BSD-3-Clause
#include "core/cli/session_options.h"

#include <CLI/CLI.hpp>

namespace titan::cli {

void add_plugin_options(CLI::App& command, train::SessionOptions& options) {
  command
      .add_option(
          "--plugin", options.plugin_files, "load this plugin; repeatable")
      ->allow_extra_args(false)
      ->type_name("FILE");
  command
      .add_option("--plugin-path",
                  options.plugin_folders,
                  "search this folder for plugins; repeatable")
      ->allow_extra_args(false)
      ->type_name("DIR");
}

void add_session_options(CLI::App& command, train::SessionOptions& options) {
  command
      .add_option("--set",
                  options.overrides,
                  "KEY=VALUE: override a key of the recipe; repeatable")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  add_plugin_options(command, options);
}

}  // namespace titan::cli
