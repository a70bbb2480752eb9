// SPDX-License-Identifier: BSD-3-Clause
// `titan plugin test`: a plugin held against what its kinds promise. Each
// component is checked in a process of its own, which is this program with
// --in-process, so that a crash or a hang is a failed check.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>

#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/cli/check_report.h"
#include "core/cli/commands.h"
#include "core/cli/kernel_checks.h"
#include "core/cli/plugin_inspection.h"
#include "core/cli/run_titan.h"
#include "core/cli/trial_process.h"
#include "core/op/guarded_allocator.h"
#include "core/plugin/registry.h"
#include "core/train/host_table.h"

namespace titan::cli {
namespace {

constexpr std::string_view kTestedKind = "titan.kernel/1";
constexpr const char* kWholeFile = "-";

struct TrialOptions {
  std::string file;
  uint64_t seed = 7;
  int timeout_seconds = 120;
  std::string component;
  bool is_in_process = false;
  bool is_guarded = false;
  bool has_lines = false;
  bool is_json = false;
  std::string junit;
};

Check no_checks_yet(const std::string& component, const std::string& kind) {
  return {component, kind, CheckOutcome::kNotRun, "no checks of this kind yet"};
}

// ---- in this process ----

/// Lines for the process that waits: each case before it runs, each check
/// after.
void announce(const std::string& what) {
  std::cout << nlohmann::json{{"running", what}}.dump() << std::endl;
}

std::vector<Check> check_loaded(const plugin::Component& component,
                                const TrialOptions& options) {
  if (component.kind != kTestedKind)
    return {no_checks_yet(component.id, component.kind)};
  op::KernelRegistry kernels;
  kernels.add_plugin_kernel(component.id,
                            &component.as<titan_kernel_table>(),
                            &component.owner->host,
                            nullptr,
                            component.owner);
  KernelCheckOptions checks;
  checks.seed = options.seed;
  if (options.has_lines) checks.on_case = announce;
  return check_kernel_component(kernels.all().front(), checks);
}

std::vector<Check> check_in_process(const TrialOptions& options) {
  plugin::PluginRegistry registry(&train::host_table());
  const auto loaded = registry.load(options.file);
  std::vector<Check> checks;
  for (const plugin::Component* component : registry.components("")) {
    if (component->owner != loaded) continue;
    if (!options.component.empty() && component->id != options.component)
      continue;
    for (Check& check : check_loaded(*component, options))
      checks.push_back(std::move(check));
  }
  return checks;
}

// ---- in processes of their own ----

std::string last_words(const std::string& output) {
  std::istringstream lines(output);
  std::string last;
  for (std::string line; std::getline(lines, line);)
    if (!line.empty() && line.front() != '{') last = line;
  return last;
}

/// The case that was announced last.
std::string last_announced(const std::string& output) {
  std::istringstream lines(output);
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (json.is_object() && json.contains("running"))
      last = json.value("running", "");
  }
  return last;
}

std::vector<Check> check_apart(const std::string& component,
                               const TrialOptions& options) {
  const TrialResult trial =
      run_trial({"plugin",
                 "test",
                 options.file,
                 "--in-process",
                 "--guard",
                 "--lines",
                 "--component",
                 component,
                 "--seed",
                 text(options.seed)},
                std::chrono::seconds(options.timeout_seconds));
  std::vector<Check> checks;
  std::istringstream lines(trial.output);
  Check check;
  for (std::string line; std::getline(lines, line);)
    if (read_check_line(line, check)) checks.push_back(check);
  if (trial.problem.empty() && !checks.empty()) return checks;
  const std::string ending =
      trial.problem.empty() ? text("exit ", trial.exit_code) : trial.problem;
  const std::string words = last_words(trial.output);
  const std::string running = last_announced(trial.output);
  checks.push_back({component,
                    "no crash, no hang",
                    CheckOutcome::kFailed,
                    text("expected an end of its own, got ",
                         ending,
                         running.empty() ? "" : " in ",
                         running,
                         words.empty() ? "" : ": ",
                         words)});
  return checks;
}

Check load_check(const plugin::Inspection& inspection) {
  Check check{kWholeFile, "loads", CheckOutcome::kPassed, ""};
  if (inspection.is_usable()) {
    check.detail = text(inspection.manifest->name,
                        ' ',
                        inspection.manifest->version,
                        ", sha256 ",
                        inspection.sha256.substr(0, 12));
    return check;
  }
  check.outcome =
      inspection.is_skipped() ? CheckOutcome::kNotRun : CheckOutcome::kFailed;
  for (const plugin::Diagnostic& item : inspection.diagnostics)
    check.detail += (check.detail.empty() ? "" : "; ") + item.text;
  return check;
}

std::vector<Check> check_plugin(const TrialOptions& options) {
  const plugin::HostFacts host = plugin::gather_host_facts();
  plugin::Inspection inspection = inspect_for_loading(options.file, host);
  if (inspection.is_usable()) probe_entry(inspection);
  std::vector<Check> checks = {load_check(inspection)};
  if (!inspection.is_usable()) return checks;
  for (const auto& component : inspection.manifest->components) {
    if (!options.component.empty() && component.id != options.component)
      continue;
    const auto refusal =
        plugin::refuse_component(component, host, options.file);
    if (component.kind != kTestedKind) {
      checks.push_back(no_checks_yet(component.id, component.kind));
    } else if (refusal) {
      checks.push_back(
          {component.id, "cases", CheckOutcome::kNotRun, refusal->text});
    } else {
      for (Check& check : check_apart(component.id, options))
        checks.push_back(std::move(check));
    }
  }
  // Nothing but the file itself: there is no such component.
  if (!options.component.empty() && checks.size() == 1) checks.clear();
  return checks;
}

void write_junit(const CheckReport& report, const std::string& path) {
  std::ofstream file(path);
  file << report_junit(report);
  file.close();
  TITAN_USER_CHECK(
      file.good(), "[--junit] expected a file that can be written, got ", path);
}

int run_plugin_test(TrialOptions options) {
  TITAN_USER_CHECK(std::filesystem::exists(options.file),
                   "[plugin test] expected a plugin's .so, got no file ",
                   options.file);
  CheckReport report{options.file, options.seed, {}};
  options.file = std::filesystem::absolute(options.file).lexically_normal();
  if (options.is_guarded) op::install_guarded_allocator();
  report.checks =
      options.is_in_process ? check_in_process(options) : check_plugin(options);
  TITAN_USER_CHECK(!report.checks.empty(),
                   "[plugin test] expected a component of ",
                   options.file,
                   ", got \"",
                   options.component,
                   "\". `titan plugin inspect` shows them.");
  if (!options.junit.empty()) write_junit(report, options.junit);
  if (options.has_lines) {
    for (const Check& check : report.checks)
      std::cout << check_line(check) << '\n';
    std::cout.flush();
  } else {
    std::cout << (options.is_json ? report_json(report) : report_text(report));
  }
  return report.passes() ? 0 : kExitDifferent;
}

}  // namespace

void add_plugin_test(Command& plugin, int& exit_code) {
  Command* command = plugin.add_subcommand(
      "test",
      "Runs a plugin's components against what their kinds promise; exit 0 if "
      "no check failed, 1 if one did");
  const auto options = std::make_shared<TrialOptions>();
  command->add_option("FILE", options->file, "A plugin's .so")->required();
  command->add_option("--seed", options->seed, "of the inputs' values")
      ->capture_default_str();
  command
      ->add_option("--timeout",
                   options->timeout_seconds,
                   "seconds per component, then it counts as hung")
      ->positive()
      ->capture_default_str();
  command->add_option("--component", options->component, "only this one")
      ->type_name("ID");
  command->add_flag("--in-process",
                    options->is_in_process,
                    "check here, for a debugger: a crash ends titan");
  command->add_flag("--guard",
                    options->is_guarded,
                    "with --in-process: end at a write outside a tensor");
  command->add_flag("--lines",
                    options->has_lines,
                    "with --in-process: JSON lines, cases as they begin");
  command->add_flag("--json", options->is_json, "Print one JSON object");
  command->add_option("--junit", options->junit, "also write JUnit's XML there")
      ->type_name("PATH");
  command->footer("Example: titan plugin test ./libacme_swiglu.so");
  command->callback(
      [options, &exit_code] { exit_code = run_plugin_test(*options); });
}

}  // namespace titan::cli
