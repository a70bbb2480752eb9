// SPDX-License-Identifier: BSD-3-Clause
// `titan parity`: a model against a reference case.
#include "core/train/parity.h"

#include <cstdio>
#include <iostream>
#include <memory>

#include <nlohmann/json.hpp>

#include <titan/text.h>

#include "core/cli/commands.h"

namespace titan::cli {
namespace {

constexpr int kExitMismatch = 1;

struct Options {
  std::string folder;
  train::ParityOptions parity;
  plugin::SearchOptions search;
  bool is_json = false;
};

void print_text(const train::ParityReport& report) {
  std::printf("%s: %lld parameters, %lld training steps\n",
              report.model.c_str(),
              static_cast<long long>(report.num_parameters),
              static_cast<long long>(report.training_steps));
  std::printf("%-12s %-12s %-10s tensor\n", "relative", "max abs", "limit");
  for (const train::TensorError& error : report.errors)
    std::printf("%-12.3e %-12.3e %-10.1e %s%s%s\n",
                error.relative_norm,
                error.max_absolute,
                error.limit,
                error.name.c_str(),
                error.problem.empty() ? "" : ": ",
                error.problem.c_str());
  std::printf("%s\n", report.passes() ? "parity: pass" : "parity: FAIL");
}

void print_json(const train::ParityReport& report) {
  nlohmann::ordered_json out = {{"model", report.model},
                                {"parameters", report.num_parameters},
                                {"training_steps", report.training_steps},
                                {"passes", report.passes()},
                                {"tensors", nlohmann::json::array()}};
  for (const train::TensorError& error : report.errors)
    out["tensors"].push_back({{"name", error.name},
                              {"relative_norm_error", error.relative_norm},
                              {"max_absolute_error", error.max_absolute},
                              {"limit", error.limit},
                              {"passes", error.passes()},
                              {"problem", error.problem}});
  std::cout << out.dump() << '\n';
}

}  // namespace

void add_parity_command(Command& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  Command* command = app.add_subcommand(
      "parity", "Compare logits, loss and gradients with a reference case");
  command->footer(
      "Exit 0 if every tensor is within the tolerance, 1 if not.\n"
      "Example: titan parity tests/golden/llama3");
  command->add_option("CASE_DIR", options->folder, "folder of the case")
      ->required();
  command
      ->add_option("--rtol",
                   options->parity.relative_tolerance,
                   "limit of the relative norm error")
      ->capture_default_str();
  command
      ->add_option(
          "--plugin", options->search.files, "load this plugin; repeatable")
      ->one_value_each()
      ->type_name("FILE")
      ->from_working_folder();
  command->add_flag("--json", options->is_json, "JSON on stdout");
  command->callback([options, &exit_code] {
    train::PluginHost host(options->search);
    const train::ParityReport report =
        train::run_parity(host, options->folder, options->parity);
    options->is_json ? print_json(report) : print_text(report);
    exit_code = report.passes() ? 0 : kExitMismatch;
  });
}

}  // namespace titan::cli
