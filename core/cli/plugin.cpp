// SPDX-License-Identifier: BSD-3-Clause
// `titan plugin list|inspect`: what is installed and what one file is. Neither
// runs code of a plugin, unless `inspect --probe` asks for it. Read next:
// plugin_trial.cpp, `titan plugin test`.
#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <titan/abi.h>
#include <titan/text.h>

#include "core/cli/commands.h"
#include "core/cli/inspection_json.h"
#include "core/cli/plugin_inspection.h"
#include "core/cli/run_titan.h"
#include "core/plugin/registry.h"

namespace titan::cli {
namespace {

namespace plug = titan::plugin;
using OrderedJson = nlohmann::ordered_json;

struct ListOptions {
  bool should_show_all = false;
  bool is_verbose = false;
  bool is_json = false;
  std::vector<std::string> folders;
};

struct InspectOptions {
  std::string file;
  bool is_json = false;
  bool should_probe = false;
};

// ---- list ----

/// Shown without --all: what can be used, and what should work but does not.
bool is_of_interest(const plug::PluginStatus& status) {
  const bool is_no_plugin =
      status.code == static_cast<int>(plug::Code::kNoNote);
  return status.state == plug::State::kAvailable ||
         status.state == plug::State::kLoaded ||
         (status.state == plug::State::kFailed && !is_no_plugin);
}

OrderedJson status_json(const plug::PluginStatus& status) {
  OrderedJson out = {{"state", plug::state_name(status.state)},
                     {"path", status.path},
                     {"real_path", status.real_path},
                     {"found_by", plug::level_name(status.level)},
                     {"sha256", status.sha256},
                     {"code", status.code},
                     {"reason", status.reason}};
  if (!status.manifest) return out;
  out["name"] = status.manifest->name;
  out["version"] = status.manifest->version;
  out["components"] = OrderedJson::array();
  for (const plug::ManifestComponent& component : status.manifest->components)
    out["components"].push_back(
        {{"kind", component.kind}, {"id", component.id}});
  return out;
}

void print_list_json(const plug::PluginRegistry& registry,
                     const std::vector<plug::PluginStatus>& shown) {
  OrderedJson out = {{"plugins", OrderedJson::array()},
                     {"searched", OrderedJson::array()}};
  for (const plug::PluginStatus& status : shown)
    out["plugins"].push_back(status_json(status));
  for (const plug::SearchFolder& folder : registry.folders())
    out["searched"].push_back({{"found_by", plug::level_name(folder.level)},
                               {"path", folder.path},
                               {"problem", folder.problem}});
  std::cout << out.dump(-1, ' ', false, OrderedJson::error_handler_t::replace)
            << '\n';
}

void print_status(const plug::PluginStatus& status, bool is_verbose) {
  const std::string name = status.manifest ? status.manifest->name : "-";
  const std::string version = status.manifest ? status.manifest->version : "-";
  std::cout << std::left << std::setw(10) << plug::state_name(status.state)
            << std::setw(24) << name << ' ' << std::setw(9) << version << ' '
            << status.path << '\n';
  if (is_verbose) {
    if (status.real_path != status.path)
      std::cout << "    is      " << status.real_path << '\n';
    std::cout << "    by      " << plug::level_name(status.level) << '\n'
              << "    sha256  " << status.sha256 << '\n';
    if (status.manifest)
      for (const auto& component : status.manifest->components)
        std::cout << "    has     " << component.kind << ' ' << component.id
                  << '\n';
  }
  if (!status.reason.empty()) std::cout << "    " << status.reason << '\n';
}

void print_list_text(const plug::PluginRegistry& registry,
                     const std::vector<plug::PluginStatus>& shown,
                     std::size_t num_hidden,
                     bool is_verbose) {
  std::cout << std::left << std::setw(10) << "STATE" << std::setw(24)
            << "PLUGIN" << ' ' << std::setw(9) << "VERSION" << ' ' << "FILE\n";
  for (const plug::PluginStatus& status : shown)
    print_status(status, is_verbose);
  if (num_hidden > 0)
    std::cout << num_hidden << " more with --all (shadowed, for other "
              << "hardware, or no plugins)\n";
  if (!is_verbose) return;
  std::cout << "searched, first to last:\n";
  for (const plug::SearchFolder& folder : registry.folders())
    std::cout << "    " << std::setw(18) << plug::level_name(folder.level)
              << folder.path
              << (folder.problem.empty() ? "" : ": " + folder.problem) << '\n';
}

void run_list(const ListOptions& options) {
  plug::PluginRegistry registry(&silent_host());
  plug::SearchOptions search;
  search.folders = options.folders;
  search.relative_to = std::filesystem::current_path();
  registry.scan(search);
  std::vector<plug::PluginStatus> shown = registry.list();
  const std::size_t num_found = shown.size();
  if (!options.should_show_all)
    std::erase_if(shown,
                  [](const auto& item) { return !is_of_interest(item); });
  if (options.is_json)
    print_list_json(registry, shown);
  else
    print_list_text(
        registry, shown, num_found - shown.size(), options.is_verbose);
}

// ---- inspect ----

void print_inspection(const plug::Inspection& inspection,
                      const plug::HostFacts& host) {
  std::cout << "file        " << inspection.path << '\n';
  if (!inspection.sha256.empty())
    std::cout << "sha256      " << inspection.sha256 << '\n'
              << "size        " << inspection.size_bytes << " bytes\n";
  if (inspection.manifest) {
    const plug::Manifest& note = *inspection.manifest;
    std::cout << "plugin      " << note.name << ' ' << note.version << " ("
              << note.vendor << ", " << note.licence << ")\n"
              << "abi         " << note.abi_major << '.' << note.abi_minor_built
              << ", at least " << note.abi_major << '.' << note.abi_minor_min
              << "; this host has " << host.abi_major << '.' << host.abi_minor
              << '\n'
              << "libtorch    " << plug::torch_version_text(note.torch_target)
              << "; this host has "
              << plug::torch_version_text(host.torch_version) << '\n'
              << "compiler    " << note.compiler << '\n';
    for (const plug::ManifestComponent& component : note.components)
      std::cout << "component   " << component.kind << ' ' << component.id
                << ": " << component.summary << '\n';
  }
  if (inspection.elf) {
    std::cout << "libraries  ";
    for (const std::string& name : inspection.elf->needed)
      std::cout << ' ' << name;
    std::cout << '\n';
  }
  std::cout << "verdict     "
            << (inspection.is_usable()    ? "usable here"
                : inspection.is_skipped() ? "not for this hardware"
                                          : "not usable here")
            << '\n';
  for (const plug::Diagnostic& item : inspection.diagnostics)
    std::cout << "    " << item.text << '\n';
}

int run_inspect(const InspectOptions& options) {
  const plug::HostFacts host = plug::gather_host_facts();
  plug::Inspection inspection = inspect_for_loading(options.file, host);
  const bool is_probed = options.should_probe && inspection.is_usable();
  if (is_probed) probe_entry(inspection);
  if (options.is_json)
    std::cout << inspection_json(
                     inspection, host, is_probed ? "probed" : "static")
              << '\n';
  else
    print_inspection(inspection, host);
  return inspection.is_usable() ? 0 : kExitUserError;
}

void add_list_command(Command& parent, int& exit_code) {
  Command* command = parent.add_subcommand(
      "list", "Lists what the search finds, without running any of it");
  const auto options = std::make_shared<ListOptions>();
  command->add_flag("--all",
                    options->should_show_all,
                    "Also what is shadowed, for other hardware, or no plugin");
  command->add_flag("-v,--verbose",
                    options->is_verbose,
                    "Also hashes, real paths, components, searched folders");
  command->add_flag("--json", options->is_json, "Print one JSON object");
  command->add_option(
      "--search", options->folders, "More folders, as plugins.search");
  command->footer("Example: titan plugin list -v");
  command->callback([options, &exit_code] {
    run_list(*options);
    exit_code = 0;
  });
}

void add_inspect_command(Command& parent, int& exit_code) {
  Command* command = parent.add_subcommand(
      "inspect",
      "Tells what a plugin file is and whether it can run here; exit 0 if it "
      "can, 2 if not");
  const auto options = std::make_shared<InspectOptions>();
  command->add_option("FILE", options->file, "A plugin's .so")->required();
  command->add_flag("--json", options->is_json, "Print one JSON object");
  command->add_flag("--probe",
                    options->should_probe,
                    "Also run the plugin's entry, in a child process: this "
                    "executes its code");
  command->footer("Example: titan plugin inspect ./libacme_norms.so --json");
  command->callback(
      [options, &exit_code] { exit_code = run_inspect(*options); });
}

}  // namespace

void add_plugin_command(Command& app, int& exit_code) {
  Command* command =
      app.add_subcommand("plugin", "Lists, inspects and tests plugins");
  command->require_subcommand();
  command->footer("Example: titan plugin list --all");
  add_list_command(*command, exit_code);
  add_inspect_command(*command, exit_code);
  add_plugin_test(*command, exit_code);
}

}  // namespace titan::cli
