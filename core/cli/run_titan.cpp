// SPDX-License-Identifier: BSD-3-Clause
// `titan` from arguments to exit code: the top of the command line and the one
// place where exceptions become text. Read next: commands.h.
#include "core/cli/run_titan.h"

#include <algorithm>
#include <new>
#include <ostream>
#include <string_view>

#include <CLI/CLI.hpp>

#include <titan/error.h>

#include "core/cli/commands.h"
#include "core/cli/libtorch_facts.h"
#include "core/config/suggest.h"
#include "core/op/cpu_allocator.h"
#include "core/version.h"

namespace titan::cli {
namespace {

std::string version_text() {
  return text("titan ",
              version(),
              "\ncommit ",
              git_commit(),
              "\nlibtorch ",
              libtorch_version(),
              "\ncompiler ",
              compiler());
}

std::string unknown_word_text(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr))
    names.push_back(command->get_name());
  std::string message = text("[titan] unknown ",
                             word.starts_with('-') ? "option" : "command",
                             ": expected one that `titan --help` lists, got '",
                             word,
                             "'.");
  if (const std::string known = config::nearest(word, names); !known.empty())
    message += text(" Did you mean '", known, "'?");
  return message;
}

int report_parse_error(const CLI::App& app,
                       const CLI::ParseError& error,
                       const std::vector<std::string>& arguments,
                       std::ostream& out,
                       std::ostream& err) {
  // Help and version arrive as "errors" with code 0.
  if (error.get_exit_code() == 0) return app.exit(error, out, err);
  const auto commands = app.get_subcommands();
  if (!commands.empty()) {
    const std::string& name = commands.front()->get_name();
    err << text('[', name, "] ", error.what(), ". See `titan ", name)
        << " --help`.\n";
  } else if (arguments.empty()) {
    err << app.help();
  } else {
    err << unknown_word_text(app, arguments.front()) << '\n';
  }
  return kExitUserError;
}

}  // namespace

int report_error(const std::exception& error, std::ostream& err) {
  if (dynamic_cast<const UserError*>(&error)) {
    err << error.what() << '\n';
    return kExitUserError;
  }
  if (dynamic_cast<const DeviceError*>(&error)) {
    err << error.what() << '\n';
    return kExitDevice;
  }
  if (dynamic_cast<const std::bad_alloc*>(&error)) {
    err << "[titan] out of memory: expected an allocation, got none. Lower "
           "training.tokens_per_microbatch or training.seq_len.\n";
    return kExitBug;
  }
  err << error.what() << "\nThis is a bug of Titan " << version() << " (commit "
      << git_commit() << "): please report it with this text.\n";
  return kExitBug;
}

int run_titan(std::vector<std::string> arguments,
              std::ostream& out,
              std::ostream& err) {
  int exit_code = 0;
  op::install_cpu_allocator();
  try {
    CLI::App app("Trains generative models from recipes, through plugins.",
                 "titan");
    app.set_version_flag("--version", version_text());
    app.require_subcommand(1);
    app.footer(
        "Example: titan train configs/llama3_debug_tinyshakespeare.yaml");
    add_commands(app, exit_code);
    try {
      // CLI11 takes the words last first.
      app.parse(std::vector(arguments.rbegin(), arguments.rend()));
    } catch (const CLI::ParseError& error) {
      return report_parse_error(app, error, arguments, out, err);
    }
  } catch (const std::exception& error) {
    return report_error(error, err);
  } catch (...) {
    err << "[titan] an exception of unknown type reached the top.\n";
    return kExitBug;
  }
  return exit_code;
}

}  // namespace titan::cli
