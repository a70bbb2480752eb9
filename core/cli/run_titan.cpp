// SPDX-License-Identifier: BSD-3-Clause
// `titan` from arguments to exit code: the top of the command line and the one
// place where exceptions become text. Read next: commands.h.
#include "core/cli/run_titan.h"

#include <algorithm>
#include <new>
#include <ostream>
#include <string_view>

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

std::string unknown_word_text(const Command& app, const std::string& word) {
  std::string message = text("[titan] unknown ",
                             word.starts_with('-') ? "option" : "command",
                             ": expected one that `titan --help` lists, got '",
                             word,
                             "'.");
  if (const std::string known = config::nearest(word, app.subcommand_names());
      !known.empty())
    message += text(" Did you mean '", known, "'?");
  return message;
}

int report_stop(const Command& app,
                const Command::Stop& stop,
                const std::vector<std::string>& arguments,
                std::ostream& err) {
  if (stop.is_answered) return 0;
  if (!stop.command.empty()) {
    err << text('[', stop.command, "] ", stop.error, ". See `titan ")
        << stop.command << " --help`.\n";
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
    Command app("Trains generative models from recipes, through plugins.",
                "titan");
    app.add_version_flag("--version", version_text());
    app.require_subcommand();
    app.footer(
        "Example: titan train configs/llama3_debug_tinyshakespeare.yaml");
    add_commands(app, exit_code);
    if (const auto stop = app.parse(arguments, out))
      return report_stop(app, *stop, arguments, err);
  } catch (const std::exception& error) {
    return report_error(error, err);
  } catch (...) {
    err << "[titan] an exception of unknown type reached the top.\n";
    return kExitBug;
  }
  return exit_code;
}

}  // namespace titan::cli
