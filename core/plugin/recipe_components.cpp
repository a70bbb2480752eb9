// SPDX-License-Identifier: BSD-3-Clause
#include "core/plugin/recipe_components.h"

#include <utility>

#include "core/plugin/plugin_dataset.h"

namespace titan::plugin {
namespace {

constexpr std::string_view kModelKind = "titan.model/1";
// A component without a schema takes no options.
constexpr std::string_view kNoOptions = R"({"type": "object"})";

std::string words(titan_str text) {
  return text.data == nullptr ? std::string()
                              : std::string(text.data, text.size);
}

std::vector<std::pair<std::string, std::string>> flavors_of(
    const Component& component) {
  std::vector<std::pair<std::string, std::string>> out;
  if (component.kind != kModelKind || component.table == nullptr) return out;
  const auto& table = component.as<titan_model_table>();
  for (std::uint64_t i = 0; i < table.num_flavors; ++i) {
    const titan_flavor* flavor = table.flavors[i];
    out.emplace_back(words(flavor->name), words(flavor->config));
  }
  return out;
}

}  // namespace

std::string_view recipe_schema(const Component& component) {
  return component.config_schema.empty()
             ? kNoOptions
             : std::string_view(component.config_schema);
}

void add_recipe_component(const Component& component,
                          config::SchemaRegistry& registry) {
  registry.add_component(component.kind,
                         component.id,
                         recipe_schema(component),
                         flavors_of(component));
}

void add_recipe_components(const PluginRegistry& plugins,
                           config::SchemaRegistry& registry) {
  for (const Component* component : plugins.components(""))
    add_recipe_component(*component, registry);
  for (const PluginStatus& status : plugins.list()) {
    if (status.state != State::kAvailable || !status.manifest) continue;
    for (const ManifestComponent& waiting : status.manifest->components)
      // Never in the way of what is there: nobody has asked for it.
      if (waiting.kind == kDatasetKind &&
          registry.find(kDatasetKind, waiting.id) == nullptr)
        registry.add_component(waiting.kind,
                               waiting.id,
                               waiting.config_schema.empty()
                                   ? kNoOptions
                                   : std::string_view(waiting.config_schema));
  }
}

}  // namespace titan::plugin
