// SPDX-License-Identifier: BSD-3-Clause
// `titan plan`: who holds and does what when a recipe runs, as the plan's JSON;
// or how two recipes' plans differ.
#include <iostream>
#include <memory>

#include <nlohmann/json.hpp>

#include "core/cli/commands.h"
#include "core/cli/session_options.h"
#include "core/train/assemble.h"

namespace titan::cli {
namespace {

using Json = nlohmann::json;

struct PlanCommandOptions {
  std::string recipe;
  std::string other;
  train::SessionOptions session;
  int64_t world = 0;
  bool is_json = false;
};

std::string plan_of(const PlanCommandOptions& options,
                    const std::string& recipe) {
  train::Session session(recipe, options.session);
  const int64_t world =
      options.world > 0 ? options.world : train::world_of(session.recipe());
  const auto shape = train::mesh_shape(session.recipe(), world);
  const auto model = train::make_model(session);
  return train::make_plan(session, *model, shape).json;
}

// Exit code as of diff(1): 0 the same, 1 different.
int print_difference(const PlanCommandOptions& options) {
  const Json left = Json::parse(plan_of(options, options.recipe)).flatten();
  const Json right = Json::parse(plan_of(options, options.other)).flatten();
  Json list = Json::array();
  const auto add = [&](const std::string& key, const Json* a, const Json* b) {
    const auto shown = [](const Json* value) {
      return value == nullptr ? std::string("-") : value->dump();
    };
    if (options.is_json) {
      list.push_back({{"key", key}, {"left", shown(a)}, {"right", shown(b)}});
    } else {
      std::cout << key << ": " << shown(a) << " -> " << shown(b) << '\n';
    }
  };
  bool is_same = true;
  for (const auto& [key, value] : left.items()) {
    const bool is_in_both = right.contains(key);
    if (is_in_both && right.at(key) == value) continue;
    is_same = false;
    add(key, &value, is_in_both ? &right.at(key) : nullptr);
  }
  for (const auto& [key, value] : right.items()) {
    if (left.contains(key)) continue;
    is_same = false;
    add(key, nullptr, &value);
  }
  if (options.is_json) std::cout << list.dump() << '\n';
  return is_same ? 0 : 1;
}

int run_plan(const PlanCommandOptions& options) {
  if (!options.other.empty()) return print_difference(options);
  const std::string plan = plan_of(options, options.recipe);
  std::cout << (options.is_json ? plan : Json::parse(plan).dump(2)) << '\n';
  return 0;
}

}  // namespace

void add_plan_command(Command& app, int& exit_code) {
  auto options = std::make_shared<PlanCommandOptions>();
  Command* command = app.add_subcommand(
      "plan", "Print who holds and does what when a recipe runs");
  command->footer(
      "With --diff exit 0 if the plans are equal, 1 if not.\n"
      "Example: titan plan configs/llama3_debug_tinyshakespeare.yaml "
      "--world 8 --set parallel.tp=2");
  command->add_option("RECIPE", options->recipe, "YAML file")->required();
  command
      ->add_option("--diff",
                   options->other,
                   "list the keys in which this recipe's plan differs")
      ->type_name("RECIPE");
  command
      ->add_option("--world",
                   options->world,
                   "ranks to plan for; default: as many as the recipe needs")
      ->positive();
  add_session_options(*command, options->session);
  command->add_flag("--json",
                    options->is_json,
                    "canonical JSON on one line (a list of keys "
                    "with --diff)");
  command->callback([options, &exit_code] { exit_code = run_plan(*options); });
}

}  // namespace titan::cli
