// SPDX-License-Identifier: BSD-3-Clause
#include "core/train/data_section.h"

#include <algorithm>
#include <set>

#include <titan/error.h>

#include "core/plugin/missing_component.h"
#include "core/plugin/plugin_dataset.h"

namespace titan::train {
namespace {

using config::Recipe;
using config::Value;

// Where `use` is a plugin's: how it is opened. `at` is its place ("data").
void add_opener(const plugin::PluginRegistry& plugins,
                const Value& entry,
                const std::string& at,
                SourceOptions& source) {
  if (plugins.try_find(plugin::kDatasetKind, source.use) == nullptr) return;
  const Value& field = *entry.find("field");
  TITAN_USER_CHECK(!field.origin().is_user(),
                   field.origin().describe(),
                   ": [",
                   at,
                   ".field] expected a key of ",
                   source.use,
                   " (",
                   at,
                   ".config), got the field of use: jsonl. Remove it");
  source.opener = std::make_shared<plugin::PluginDatasetOpener>(
      plugins.find(plugin::kDatasetKind, source.use),
      *entry.find("config"),
      at + ".config");
}

// data.use, data.files, ...: the only source.
SourceOptions read_single_source(const Recipe& recipe,
                                 const plugin::PluginRegistry& plugins) {
  SourceOptions source;
  source.use = recipe.string("data.use");
  source.files = recipe.strings("data.files");
  source.field = recipe.string("data.field");
  source.epochs = recipe.optional_integer("data.epochs").value_or(0);
  recipe.value("data.config");
  add_opener(plugins, *recipe.root().at_path("data"), "data", source);
  return source;
}

SourceOptions read_source(const Value& entry,
                          const std::string& at,
                          const plugin::PluginRegistry& plugins) {
  SourceOptions source;
  source.use = entry.find("use")->as_string();
  for (const Value& file : entry.find("files")->as_list())
    source.files.push_back(file.as_string());
  source.field = entry.find("field")->as_string();
  source.weight = entry.find("weight")->as_number();
  const Value& epochs = *entry.find("epochs");
  if (!epochs.is_null()) source.epochs = epochs.as_integer();
  add_opener(plugins, entry, at, source);
  return source;
}

// The text at `key` of a recipe that nobody has checked yet.
void add_name(const Value& map, std::set<std::string>& names) {
  if (!map.is_map()) return;
  const Value* use = map.find("use");
  if (use != nullptr && use->is_string()) names.insert(use->as_string());
}

}  // namespace

DataOptions read_data_section(const Recipe& recipe,
                              const plugin::PluginRegistry& plugins) {
  DataOptions options;
  const Value::List& sources = recipe.list("data.sources");
  if (sources.empty()) {
    options.sources.push_back(read_single_source(recipe, plugins));
  } else {
    for (size_t i = 0; i < sources.size(); ++i)
      options.sources.push_back(
          read_source(sources[i], text("data.sources[", i, ']'), plugins));
  }
  options.on_bad_line = recipe.string("data.on_bad_line");
  options.on_exhausted =
      recipe.optional_string("data.on_exhausted").value_or("");
  options.add_bos = recipe.boolean("data.add_bos");
  options.validation_fraction = recipe.number("data.validation_fraction");
  options.validation_files = recipe.strings("data.validation_files");
  options.shuffle = recipe.boolean("data.shuffle");
  options.num_lanes = recipe.integer("data.lanes");
  options.block_bytes = recipe.integer("data.shuffle_buffer");
  options.packing = recipe.string("data.packing");
  options.too_long = recipe.string("data.too_long");
  options.num_threads = static_cast<int>(recipe.integer("data.threads"));
  options.rows_ahead = recipe.integer("data.prefetch");
  return options;
}

void load_named_datasets(const Value& recipe,
                         const config::SchemaRegistry& core,
                         plugin::PluginRegistry& plugins) {
  const Value* data = recipe.find("data");
  if (data == nullptr || !data->is_map()) return;
  std::set<std::string> names;
  add_name(*data, names);
  const Value* sources = data->find("sources");
  if (sources != nullptr && sources->is_list())
    for (const Value& entry : sources->as_list()) add_name(entry, names);
  const std::vector<plugin::PluginStatus> known = plugins.list();
  for (const std::string& name : names) {
    const bool is_known =
        std::any_of(known.begin(), known.end(), [&](const auto& status) {
          return provides(status, plugin::kDatasetKind, name);
        });
    if (is_known && core.find(plugin::kDatasetKind, name) == nullptr)
      plugins.require(plugin::kDatasetKind, name);
  }
}

}  // namespace titan::train
