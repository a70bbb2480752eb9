// SPDX-License-Identifier: BSD-3-Clause
#include "core/train/open_model.h"

#include <fstream>
#include <optional>
#include <sstream>

#include <titan/error.h>

#include "core/checkpoint/checkpoint_folder.h"
#include "core/observe/log.h"
#include "core/observe/text_file.h"
#include "core/parallel/planner.h"
#include "core/train/adapter.h"
#include "core/train/weights.h"

namespace titan::train {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModelKind = "titan.model/1";
constexpr const char* kCheckpointFolder = "checkpoint";  // recipe's default
constexpr const char* kModelFile = "model.yaml";

std::optional<checkpoint::CheckpointReader> checkpoint_in(
    const checkpoint::FileSystem& files,
    const fs::path& folder) {
  for (const fs::path& place : {folder, folder / kCheckpointFolder}) {
    auto found = checkpoint::find_checkpoint(files, place);
    if (found.reader) return std::move(found.reader);
    TITAN_USER_CHECK(found.rejected.empty(), found.rejected.front());
  }
  return std::nullopt;
}

const config::Value& get(const config::Value& recipe,
                         const std::string& path,
                         const fs::path& from) {
  const config::Value* value = recipe.at_path(path);
  TITAN_USER_CHECK(value != nullptr && !value->is_null(),
                   "[checkpoint ",
                   from.string(),
                   "] recipe: expected the key ",
                   path,
                   ", got none. The checkpoint was not written by a run.");
  return *value;
}

void open_host(OpenModel& opened,
               const config::Value& section,
               plugin::SearchOptions search) {
  const PluginSection plugins = plugin_section_of(section);
  for (const PluginSection::File& file : plugins.files)
    search.files.push_back(file.path);
  search.folders.insert(
      search.folders.end(), plugins.folders.begin(), plugins.folders.end());
  opened.host = std::make_unique<PluginHost>(search, plugins);
  require_named(opened.host->plugins, plugins);
}

std::shared_ptr<const op::KernelSelector> default_kernels(PluginHost& host) {
  op::KernelPolicy policy;
  policy.force_from_environment();
  return std::make_shared<const op::KernelSelector>(host.kernels,
                                                    std::move(policy));
}

struct NamedModel {
  const plugin::Component& component;
  config::Value config;  // complete
};

// What a recipe's section "model" says.
NamedModel model_of_section(PluginHost& host, const fs::path& file) {
  const config::SchemaRegistry schemas = make_schemas(host.plugins);
  const config::Value section = config::resolve_section(
      config::compose_recipe(file.string(), {}, schemas.root()),
      schemas,
      "model");
  return {host.plugins.find(kModelKind, get(section, "use", file).as_string()),
          get(section, "config", file)};
}

// What Hugging Face's config.json says.
NamedModel model_of_config(PluginHost& host, const fs::path& file) {
  const auto hf =
      config::Value::from_json(require_text_file(file), file.string());
  const config::Value* type = hf.find("model_type");
  TITAN_USER_CHECK(type != nullptr && type->is_string(),
                   "[",
                   file.string(),
                   "] model_type: expected a name, got none");
  const plugin::Component& component = host.find_model_for(type->as_string());
  return {
      component,
      complete_config(component,
                      module::config_from_hf(component.as<titan_model_table>(),
                                             component.owner->host,
                                             component.id,
                                             hf))};
}

struct Wanted {
  std::string tokenizer;
  std::string precision;
};

Wanted open_from_checkpoint(OpenModel& opened,
                            const checkpoint::CheckpointReader& reader,
                            const plugin::SearchOptions& search) {
  const fs::path& from = reader.path();
  const auto recipe =
      config::Value::from_json(reader.manifest().state.recipe, from.string());
  open_host(opened, get(recipe, "plugins", from), search);
  opened.model = make_model_from_checkpoint(*opened.host, reader);
  return {get(recipe, "data.tokenizer", from).as_string(),
          get(recipe, "precision.use", from).as_string()};
}

}  // namespace

std::unique_ptr<module::Model> make_model_from_checkpoint(
    PluginHost& host,
    const checkpoint::CheckpointReader& reader) {
  const fs::path& from = reader.path();
  const auto recipe =
      config::Value::from_json(reader.manifest().state.recipe, from.string());
  const plugin::Component& component =
      host.plugins.find(kModelKind, get(recipe, "model.use", from).as_string());
  auto model = std::make_unique<module::Model>(
      component.as<titan_model_table>(),
      component.owner->host,
      component.owner,
      component.id,
      complete_config(component, get(recipe, "model.config", from)),
      default_kernels(host));
  apply_adapter(host, recipe, *model);
  return model;
}

std::unique_ptr<module::Model> make_model_from_hf(PluginHost& host,
                                                  const fs::path& folder) {
  const bool has_recipe = fs::exists(folder / kModelFile);
  const fs::path config = folder / "config.json";
  if (has_recipe && fs::exists(config))
    log::info(text("the model is that of ",
                   (folder / kModelFile).string(),
                   "; config.json beside it is not read"));
  const NamedModel named = has_recipe
                               ? model_of_section(host, folder / kModelFile)
                               : model_of_config(host, config);
  const plugin::Component& component = named.component;
  return std::make_unique<module::Model>(component.as<titan_model_table>(),
                                         component.owner->host,
                                         component.owner,
                                         component.id,
                                         named.config,
                                         default_kernels(host));
}

std::unique_ptr<OpenModel> open_model(const fs::path& folder,
                                      const OpenOptions& options) {
  const checkpoint::FileSystem& files =
      options.files ? *options.files : checkpoint::real_file_system();
  TITAN_USER_CHECK(files.exists(folder),
                   "[",
                   folder.string(),
                   "] expected the folder of a run, a checkpoint or a Hugging "
                   "Face model, got none");
  auto opened = std::make_unique<OpenModel>();
  Wanted wanted{folder.string(), "fp32"};
  fs::path weights = folder;
  if (const auto reader = checkpoint_in(files, folder)) {
    wanted = open_from_checkpoint(*opened, *reader, options.search);
    weights = reader->path();
  } else {
    TITAN_USER_CHECK(
        !files.is_object_store() && fs::exists(folder / "config.json"),
        "[",
        folder.string(),
        "] expected a checkpoint (manifest.json or step_*) or "
        "config.json, got neither");
    opened->host = std::make_unique<PluginHost>(options.search);
    opened->model = make_model_from_hf(*opened->host, folder);
  }
  if (!options.tokenizer.empty()) wanted.tokenizer = options.tokenizer;
  if (!options.precision.empty()) wanted.precision = options.precision;
  opened->source = weights.string();
  opened->tokenizer = load_tokenizer(wanted.tokenizer);
  module::ModuleTree& tree = opened->model->tree();
  opened->plan = parallel::default_plan(tree, 1);
  opened->engine = std::make_unique<parallel::ParameterEngine>(
      tree,
      opened->plan,
      opened->plan.stages.front().items,
      opened->mesh,
      parallel::precision_of(wanted.precision));
  opened->executor = std::make_unique<parallel::Executor>(
      tree, opened->plan, *opened->engine, opened->mesh);
  load_weights(*opened->model, *opened->engine, weights, files);
  return opened;
}

}  // namespace titan::train
