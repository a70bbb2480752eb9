// SPDX-License-Identifier: BSD-3-Clause
#include "core/plugin/first_party.h"

#include <nlohmann/json.hpp>

#include <titan/error.h>

#include "core/plugin/trust.h"

namespace titan::plugin {

std::map<std::string, std::string> first_party_hashes(
    const std::string& folder) {
  PluginBytes file;
  try {
    file = read_plugin(folder + "/manifest.json", Trust::kRequired);
  } catch (const UserError&) {
    return {};  // absent or untrusted: a probe decides instead
  }
  const auto* text = reinterpret_cast<const char*>(file.bytes.data());
  const auto json = nlohmann::json::parse(
      text, text + file.bytes.size(), nullptr, /*allow_exceptions=*/false);
  std::map<std::string, std::string> out;
  if (!json.is_object()) return out;
  for (const auto& [name, hash] : json.items())
    if (hash.is_string()) out[name] = hash.get<std::string>();
  return out;
}

}  // namespace titan::plugin
