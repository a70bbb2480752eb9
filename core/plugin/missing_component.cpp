// SPDX-License-Identifier: BSD-3-Clause
#include "core/plugin/missing_component.h"

#include <algorithm>
#include <string_view>

#include <titan/error.h>

#include "core/config/suggest.h"

namespace titan::plugin {
namespace {

std::vector<std::string> known_ids(const std::string& kind,
                                   const std::vector<PluginStatus>& plugins) {
  std::vector<std::string> out;
  for (const PluginStatus& plugin : plugins) {
    if (!plugin.manifest) continue;
    for (const ManifestComponent& component : plugin.manifest->components)
      if (component.kind == kind) out.push_back(component.id);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::string searched_text(const std::vector<SearchFolder>& folders) {
  std::string out;
  for (const SearchFolder& folder : folders)
    out += (out.empty() ? "" : ", ") + folder.path;
  return out.empty() ? "no folder" : out;
}

[[noreturn]] void throw_missing(const std::string& kind,
                                std::string_view what) {
  constexpr auto kCode = Code::kNotFound;
  throw UserError(text('[',
                       kind,
                       "] ",
                       code_info(kCode).name,
                       " (",
                       static_cast<int>(kCode),
                       "): ",
                       what),
                  static_cast<int>(kCode));
}

std::string blocked_text(const PluginStatus& plugin) {
  const std::string file =
      text(plugin.path, " (", level_name(plugin.level), ')');
  if (plugin.state == State::kAvailable)
    return text(file, ", which is not loaded. Add that path to plugins.load.");
  if (plugin.state == State::kLoaded)
    return text(file, ", which is loaded but of no use on this hardware.");
  return text(
      file, ", which is ", state_name(plugin.state), ": ", plugin.reason);
}

}  // namespace

bool provides(const PluginStatus& status,
              const std::string& kind,
              const std::string& id) {
  if (!status.manifest) return false;
  const auto& components = status.manifest->components;
  return std::any_of(
      components.begin(), components.end(), [&](const auto& component) {
        return component.kind == kind && component.id == id;
      });
}

void throw_missing_component(const std::string& kind,
                             const std::string& id,
                             const std::vector<PluginStatus>& plugins,
                             const std::vector<SearchFolder>& folders) {
  for (const PluginStatus& plugin : plugins)
    if (provides(plugin, kind, id))
      throw_missing(kind,
                    text("component is not loaded: expected '",
                         id,
                         "', got it in ",
                         blocked_text(plugin)));
  const std::vector<std::string> known = known_ids(kind, plugins);
  if (known.empty())
    throw_missing(kind,
                  text("no plugin provides this kind: expected '",
                       id,
                       "', got none in ",
                       searched_text(folders),
                       ". Set TITAN_PLUGIN_PATH or plugins.search; `titan "
                       "plugin list --all` shows what was found."));
  std::string hint = config::nearest(id, known);
  hint = hint.empty() ? "See `titan plugin list`."
                      : text("Did you mean '", hint, "'?");
  throw_missing(kind,
                text("no such component: expected one of ",
                     known,
                     ", got '",
                     id,
                     "'. ",
                     hint));
}

}  // namespace titan::plugin
