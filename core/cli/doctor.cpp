// SPDX-License-Identifier: BSD-3-Clause
// `titan doctor`: what this machine is, what is likely to hurt a run on it, and
// what to do about it. The facts and checks are core/observe's; LibTorch's are
// added here, since observe must not see LibTorch.
#include <iostream>
#include <memory>

#include <nlohmann/json.hpp>

#include <titan/abi.h>
#include <titan/text.h>

#include "core/cli/commands.h"
#include "core/cli/libtorch_facts.h"
#include "core/observe/machine.h"
#include "core/observe/machine_checks.h"
#include "core/plugin/error_code.h"
#include "core/plugin/registry.h"

namespace titan::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct DoctorOptions {
  bool is_json = false;
  std::string folder = ".";
};

MachineCheck check_libtorch() {
  const std::string loaded = libtorch_version();
  const std::string built = libtorch_built_version();
  const bool is_same = loaded == built;
  return {"libtorch",
          is_same,
          text(loaded, " loaded, built with ", built),
          is_same ? ""
                  : "Take the other LibTorch out of LD_LIBRARY_PATH, or "
                    "configure with -DTITAN_LIBTORCH for this one"};
}

// LibTorch's CPU library needs the CUDA runtime too. Were it missing we would
// not run, so what can go wrong is a GPU with an older runtime in front.
MachineCheck check_cuda_runtime(const MachineFacts& facts) {
  const std::string path = loaded_library_path("libcudart.so");
  const bool has_passed = !path.empty() || facts.gpus.gpus.empty();
  return {"libcudart",
          has_passed,
          path.empty() ? "not loaded" : path,
          has_passed ? ""
                     : "Run scripts/setup, which puts the wheel "
                       "nvidia-cuda-runtime beside LibTorch"};
}

// Found, not run: a broken plugin must not end the doctor.
MachineCheck check_plugins() {
  titan_host_api host = {};
  host.struct_size = sizeof host;
  host.abi_minor = TITAN_ABI_MINOR;
  plugin::PluginRegistry registry(&host);
  registry.scan({});
  int64_t num_usable = 0, num_failed = 0;
  std::string reasons;
  for (const plugin::PluginStatus& status : registry.list()) {
    if (status.state == plugin::State::kAvailable) ++num_usable;
    // Other libraries beside plugins are none.
    if (status.state != plugin::State::kFailed ||
        status.code == static_cast<int>(plugin::Code::kNoNote))
      continue;
    ++num_failed;
    reasons += text("; ", status.reason);
  }
  const bool has_passed = num_usable > 0 && num_failed == 0;
  return {"plugins",
          has_passed,
          text(num_usable, " usable, ", num_failed, " not", reasons),
          has_passed ? ""
                     : "`titan plugin list --all -v` shows each file and the "
                       "folders searched"};
}

void print_text(const MachineFacts& facts,
                const std::vector<MachineCheck>& checks) {
  const std::string libtorch =
      text(libtorch_version(), " at ", loaded_library_path("libtorch_cpu.so"));
  std::cout << machine_table(facts, {{"libtorch", libtorch}}) << '\n'
            << check_lines(checks);
}

void print_json(const MachineFacts& facts,
                const std::vector<MachineCheck>& checks) {
  OrderedJson out;
  out["machine"] = OrderedJson::parse(machine_json(facts));
  out["libtorch"] = {{"version", libtorch_version()},
                     {"built_with", libtorch_built_version()},
                     {"path", loaded_library_path("libtorch_cpu.so")}};
  out["checks"] = OrderedJson::array();
  for (const MachineCheck& check : checks) {
    out["checks"].push_back({{"name", check.name},
                             {"passed", check.has_passed},
                             {"found", check.found},
                             {"fix", check.fix}});
  }
  std::cout << out.dump(-1, ' ', false, OrderedJson::error_handler_t::replace)
            << '\n';
}

void run_doctor(const DoctorOptions& options) {
  const MachineFacts facts = read_machine_facts(options.folder);
  std::vector<MachineCheck> checks = check_machine(facts);
  checks.push_back(check_libtorch());
  checks.push_back(check_cuda_runtime(facts));
  checks.push_back(check_plugins());
  if (options.is_json) {
    print_json(facts, checks);
  } else {
    print_text(facts, checks);
  }
}

}  // namespace

void add_doctor_command(Command& app, int& exit_code) {
  Command* command = app.add_subcommand(
      "doctor", "Shows facts of this machine and what may hurt a run on it");
  const auto options = std::make_shared<DoctorOptions>();
  command->add_flag("--json", options->is_json, "Print one JSON object");
  command
      ->add_option("--folder",
                   options->folder,
                   "Where runs will be written: its disk is checked")
      ->capture_default_str();
  command->footer("Example: titan doctor --folder runs");
  command->callback([options, &exit_code] {
    run_doctor(*options);
    exit_code = 0;  // warnings are advice
  });
}

}  // namespace titan::cli
