// SPDX-License-Identifier: BSD-3-Clause
// `titan config print|explain|schema|diff`: what a recipe means and why.
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/cli/commands.h"
#include "core/cli/recipe_registry.h"
#include "core/config/print.h"
#include "core/config/recipe_schema.h"
#include "core/config/reference.h"

namespace titan::cli {
namespace {

struct ConfigOptions {
  std::string recipe;
  std::string other;
  std::string key;
  std::vector<std::string> overrides;
  bool is_json = false;
  bool is_markdown = false;
  bool has_origins = false;
};
using Options = std::shared_ptr<ConfigOptions>;

void run_print(const ConfigOptions& options) {
  const config::Recipe recipe =
      load_recipe_for_command(options.recipe, options.overrides);
  if (options.is_json) {
    std::cout << recipe.root().to_json() << '\n';
  } else {
    std::cout << config::to_yaml(recipe.root(), options.has_origins);
  }
}

void run_explain(const ConfigOptions& options) {
  const config::SchemaRegistry core = config::make_core_registry();
  config::Composition composition =
      config::compose_recipe(options.recipe, options.overrides, core.root());
  const config::SchemaRegistry registry = make_recipe_registry(composition);
  const config::Recipe recipe =
      config::resolve_recipe(std::move(composition), registry);
  std::cout << config::explain_key(recipe, registry, options.key);
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
  const config::Recipe left = load_recipe_for_command(options.recipe, {});
  const config::Recipe right = load_recipe_for_command(options.other, {});
  const auto differences = config::diff(left.root(), right.root());
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

void add_recipe_options(CLI::App& command, const Options& options) {
  command.add_option("recipe", options->recipe, "Recipe (YAML)")->required();
  command
      .add_option("--set",
                  options->overrides,
                  "KEY=VALUE, over what the recipe says; may be repeated")
      ->take_all()
      ->expected(1);
}

void add_print(CLI::App& app, const Options& options, int& exit_code) {
  CLI::App* command = app.add_subcommand(
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

void add_explain(CLI::App& app, const Options& options, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "explain", "Shows one key: value, origin, type, default, meaning");
  add_recipe_options(*command, options);
  command->add_option("key", options->key, "Dotted path")->required();
  command->footer("Example: titan config explain run.yaml training.steps");
  command->callback([options, &exit_code] {
    run_explain(*options);
    exit_code = 0;
  });
}

void add_schema(CLI::App& app, const Options& options, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("schema", "Prints the schema of recipes as JSON");
  command->add_flag(
      "--markdown", options->is_markdown, "Print docs/recipes.md instead");
  command->footer("Example: titan config schema --markdown > docs/recipes.md");
  command->callback([options, &exit_code] {
    run_schema(*options);
    exit_code = 0;
  });
}

void add_diff(CLI::App& app, const Options& options, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "diff", "Lists the keys in which two resolved recipes differ");
  command->add_option("left", options->recipe, "Recipe (YAML)")->required();
  command->add_option("right", options->other, "Recipe (YAML)")->required();
  command->add_flag("--json", options->is_json, "Print one JSON list");
  command->footer("Example: titan config diff a.yaml b.yaml");
  command->callback([options, &exit_code] { exit_code = run_diff(*options); });
}

}  // namespace

void add_config_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "config", "Shows what a recipe means and where its values come from");
  command->require_subcommand(1);
  const auto options = std::make_shared<ConfigOptions>();
  add_print(*command, options, exit_code);
  add_explain(*command, options, exit_code);
  add_schema(*command, options, exit_code);
  add_diff(*command, options, exit_code);
  command->footer("Example: titan config print configs/RECIPE.yaml");
}

}  // namespace titan::cli
