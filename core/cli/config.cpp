// SPDX-License-Identifier: BSD-3-Clause
// `titan config print|explain|schema|diff`: what a recipe means and why.
#include <iostream>
#include <memory>

#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/cli/commands.h"
#include "core/cli/session_options.h"
#include "core/config/print.h"
#include "core/config/recipe_schema.h"
#include "core/config/reference.h"

namespace titan::cli {
namespace {

struct ConfigOptions {
  std::string recipe;
  std::string other;
  std::string key;
  train::SessionOptions session;
  bool is_json = false;
  bool is_markdown = false;
  bool has_origins = false;
};
using Options = std::shared_ptr<ConfigOptions>;

void run_print(const ConfigOptions& options) {
  const train::Session session(options.recipe, options.session);
  const config::Recipe& recipe = session.recipe();
  if (options.is_json) {
    std::cout << recipe.root().to_json() << '\n';
  } else {
    std::cout << config::to_yaml(recipe.root(), options.has_origins);
  }
}

void run_explain(const ConfigOptions& options) {
  train::Session session(options.recipe, options.session);
  std::cout << config::explain_key(session.recipe(),
                                   train::make_schemas(session.host().plugins),
                                   options.key);
}

void run_schema(const ConfigOptions& options) {
  const config::SchemaRegistry registry = config::make_core_registry();
  if (options.is_markdown) {
    std::cout << config::write_reference(registry.root());
  } else {
    std::cout << registry.to_json() << '\n';
  }
}

// Exit code as of diff(1): 0 the same, 1 different.
int run_diff(const ConfigOptions& options) {
  const train::Session left(options.recipe, options.session);
  const train::Session right(options.other, options.session);
  const auto differences =
      config::diff(left.recipe().root(), right.recipe().root());
  const auto show = [](const config::Value* value) {
    return value != nullptr ? value->to_json() : std::string("-");
  };
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const config::Difference& difference : differences) {
    if (options.is_json) {
      list.push_back({{"key", difference.path},
                      {"left", show(difference.left)},
                      {"right", show(difference.right)}});
    } else {
      std::cout << difference.path << ": " << show(difference.left) << " -> "
                << show(difference.right) << '\n';
    }
  }
  if (options.is_json) std::cout << list.dump() << '\n';
  return differences.empty() ? 0 : 1;
}

void add_recipe_options(Command& command, const Options& options) {
  command.add_option("recipe", options->recipe, "Recipe (YAML)")->required();
  add_session_options(command, options->session);
}

void add_print(Command& app, const Options& options, int& exit_code) {
  Command* command = app.add_subcommand(
      "print", "Shows a recipe with every default filled in");
  add_recipe_options(*command, options);
  command->add_flag("--json", options->is_json, "Print one JSON object");
  command->add_flag("--origins",
                    options->has_origins,
                    "Say after each value where it came from");
  command->footer(
      "Example: titan config print run.yaml --set training.steps=5");
  command->callback([options, &exit_code] {
    run_print(*options);
    exit_code = 0;
  });
}

void add_explain(Command& app, const Options& options, int& exit_code) {
  Command* command = app.add_subcommand(
      "explain", "Shows one key: value, origin, type, default, meaning");
  add_recipe_options(*command, options);
  command->add_option("key", options->key, "Dotted path")->required();
  command->footer("Example: titan config explain run.yaml training.steps");
  command->callback([options, &exit_code] {
    run_explain(*options);
    exit_code = 0;
  });
}

void add_schema(Command& app, const Options& options, int& exit_code) {
  Command* command =
      app.add_subcommand("schema", "Prints the schema of recipes as JSON");
  command->add_flag(
      "--markdown", options->is_markdown, "Print docs/recipes.md instead");
  command->footer("Example: titan config schema --markdown > docs/recipes.md");
  command->callback([options, &exit_code] {
    run_schema(*options);
    exit_code = 0;
  });
}

void add_diff(Command& app, const Options& options, int& exit_code) {
  Command* command = app.add_subcommand(
      "diff", "Lists the keys in which two resolved recipes differ");
  command->add_option("left", options->recipe, "Recipe (YAML)")->required();
  command->add_option("right", options->other, "Recipe (YAML)")->required();
  command->add_flag("--json", options->is_json, "Print one JSON list");
  add_plugin_options(*command, options->session);
  command->footer("Example: titan config diff a.yaml b.yaml");
  command->callback([options, &exit_code] { exit_code = run_diff(*options); });
}

}  // namespace

void add_config_command(Command& app, int& exit_code) {
  Command* command = app.add_subcommand(
      "config", "Shows what a recipe means and where its values come from");
  command->require_subcommand();
  const auto options = std::make_shared<ConfigOptions>();
  add_print(*command, options, exit_code);
  add_explain(*command, options, exit_code);
  add_schema(*command, options, exit_code);
  add_diff(*command, options, exit_code);
  command->footer("Example: titan config print configs/RECIPE.yaml");
}

}  // namespace titan::cli
