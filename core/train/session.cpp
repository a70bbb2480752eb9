// SPDX-License-Identifier: BSD-3-Clause
#include "core/train/session.h"

#include <cstdlib>
#include <filesystem>
#include <set>

#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/config/compose.h"
#include "core/config/recipe_schema.h"
#include "core/config/validate.h"
#include "core/plugin/abi_call.h"
#include "core/plugin/plugin_file_system.h"
#include "core/plugin/recipe_components.h"
#include "core/train/data_section.h"
#include "core/train/host_table.h"

namespace titan::train {
namespace {

constexpr const char* kModelKind = "titan.model/1";
constexpr const char* kKernelKind = "titan.kernel/1";

plugin::SearchOptions search_of(const std::string& recipe_file,
                                const PluginSection& section,
                                const SessionOptions& options) {
  plugin::SearchOptions search;
  const std::filesystem::path recipe(recipe_file);
  search.relative_to = std::filesystem::absolute(recipe).parent_path().string();
  search.files = options.plugin_files;
  search.folders = options.plugin_folders;
  for (const PluginSection::File& file : section.files)
    search.files.push_back(file.path);
  search.folders.insert(
      search.folders.end(), section.folders.begin(), section.folders.end());
  return search;
}

config::Recipe open_recipe(const std::string& file,
                           const SessionOptions& options,
                           std::unique_ptr<PluginHost>& host) {
  const config::SchemaRegistry core = config::make_core_registry();
  config::Composition composition =
      config::compose_recipe(file, options.overrides, core.root());
  const PluginSection section = read_plugin_section(composition, core);
  host = std::make_unique<PluginHost>(
      search_of(composition.file, section, options), section);
  load_named_datasets(composition.root, core, host->plugins);
  require_named(host->plugins, section);
  config::Recipe recipe = config::resolve_recipe(std::move(composition),
                                                 make_schemas(host->plugins));
  mark_plugin_section_read(recipe);
  return recipe;
}

op::KernelPolicy policy_of(const config::Recipe& recipe) {
  op::KernelPolicy policy;
  for (const auto& entry : recipe.value("kernels").as_map()) {
    op::KernelRule rule;
    rule.origin = entry.value.origin().describe();
    const config::Value* use = entry.value.find("use");
    if (use != nullptr && use->is_string()) rule.use = use->as_string();
    for (const config::Value& id : entry.value.find("prefer")->as_list())
      rule.prefer.push_back(id.as_string());
    for (const config::Value& id : entry.value.find("deny")->as_list())
      rule.deny.push_back(id.as_string());
    policy.ops[entry.key] = rule;
  }
  for (const config::Value& entry : recipe.list("overrides")) {
    op::KernelOverride override;
    override.pattern = entry.find("match")->as_string();
    override.op_id = entry.find("op")->as_string();
    override.rule.use = entry.find("use")->as_string();
    override.rule.origin = entry.origin().describe();
    policy.overrides.push_back(override);
  }
  if (recipe.boolean("training.deterministic"))
    policy.require_flags = TITAN_KERNEL_DETERMINISTIC;
  policy.force_from_environment();
  return policy;
}

std::set<std::string> named_kernels(const op::KernelPolicy& policy) {
  std::set<std::string> named;
  for (const auto& [op_id, rule] : policy.ops) {
    named.insert(rule.use);
    named.insert(rule.prefer.begin(), rule.prefer.end());
  }
  for (const op::KernelOverride& override : policy.overrides)
    named.insert(override.rule.use);
  for (const auto& [op_id, kernel_id] : policy.forced) named.insert(kernel_id);
  return named;
}

// What a search merely found runs only where somebody names it: a file that
// lies in a folder must not change a run's numbers.
void deny_unnamed_finds(const plugin::PluginRegistry& plugins,
                        op::KernelPolicy& policy) {
  const std::set<std::string> named = named_kernels(policy);
  for (const plugin::Component* component : plugins.components(kKernelKind)) {
    const plugin::Level level = component->owner->level;
    const bool is_given = level == plugin::Level::kBuiltIn ||
                          level == plugin::Level::kExplicit ||
                          named.count(component->id) != 0;
    if (is_given || !component->kernel) continue;
    op::KernelRule& rule = policy.ops[component->kernel->op];
    rule.deny.push_back(component->id);
  }
}

}  // namespace

std::unique_ptr<checkpoint::FileSystem> open_storage(
    const PluginHost& host,
    const std::string& id,
    const config::Value& config) {
  if (id == "file") return nullptr;
  return std::make_unique<plugin::PluginFileSystem>(
      host.plugins.find(plugin::kStorageKind, id), config);
}

config::Value complete_config(const plugin::Component& component,
                              const config::Value& given) {
  std::vector<config::Problem> problems;
  config::Value complete = config::validate(
      config::parse_schema(plugin::recipe_schema(component), component.id),
      given,
      "",
      config::ValidationScope{},
      problems);
  config::throw_if_any(problems);
  return complete;
}

config::SchemaRegistry make_schemas(const plugin::PluginRegistry& plugins) {
  config::SchemaRegistry schemas = config::make_core_registry();
  plugin::add_recipe_components(plugins, schemas);
  return schemas;
}

PluginHost::PluginHost(const plugin::SearchOptions& search,
                       const PluginSection& section)
    : plugins(&host_table(), plugin::gather_host_facts(), section.options),
      kernels(std::make_shared<op::KernelRegistry>()) {
  load_pinned(plugins, section);
  plugins.load_all(search);
  for (const plugin::Component* component : plugins.components(kKernelKind))
    kernels->add_plugin_kernel(component->id,
                               &component->as<titan_kernel_table>(),
                               &component->owner->host,
                               nullptr,
                               component->owner);
}

const plugin::Component& PluginHost::find_model_for(
    const std::string& model_type) const {
  std::vector<std::string> known;
  for (const plugin::Component* component : plugins.components(kModelKind)) {
    const auto& table = component->as<titan_model_table>();
    for (uint64_t i = 0; i < table.num_hf_model_types; ++i) {
      const auto type = plugin::view(table.hf_model_types[i]);
      if (type == model_type) return *component;
      known.emplace_back(type);
    }
  }
  throw UserError(text("[config.json] model_type: expected one of ",
                       known,
                       ", got '",
                       model_type,
                       "'. No loaded model plugin reads it."));
}

Session::Session(const std::string& recipe_file, const SessionOptions& options)
    : recipe_(open_recipe(recipe_file, options, host_)) {}

std::shared_ptr<const op::KernelSelector> Session::make_selector() const {
  op::KernelPolicy policy = policy_of(recipe_);
  deny_unnamed_finds(host_->plugins, policy);
  return std::make_shared<const op::KernelSelector>(host_->kernels,
                                                    std::move(policy));
}

std::string Session::plugin_lock() const {
  nlohmann::json lock = nlohmann::json::array();
  std::set<std::string> seen;
  for (const plugin::Component* component : host_->plugins.components("")) {
    const plugin::LoadedPlugin& owner = *component->owner;
    if (!seen.insert(owner.name).second) continue;
    lock.push_back({{"name", owner.name},
                    {"version", owner.version},
                    {"sha256", owner.sha256}});
  }
  return lock.dump();
}

}  // namespace titan::train
