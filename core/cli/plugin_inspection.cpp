// SPDX-License-Identifier: BSD-3-Clause
#include "core/cli/plugin_inspection.h"

#include <filesystem>

#include <titan/text.h>

#include "core/plugin/probe.h"
#include "core/plugin/stage.h"

namespace titan::cli {
namespace {

void add_trust(plugin::Inspection& inspection) {
  // A file that could not be read has said so already.
  if (inspection.sha256.empty()) return;
  const auto reason = plugin::distrust_reason(inspection.path);
  if (!reason) return;
  constexpr auto kCode = plugin::Code::kUntrustedPath;
  inspection.diagnostics.push_back(
      {kCode,
       plugin::code_text(kCode,
                         inspection.path,
                         text("another user could have written this code: ",
                              *reason,
                              ". ",
                              plugin::code_info(kCode).hint))});
}

}  // namespace

const titan_host_api& silent_host() {
  static const titan_host_api host = [] {
    titan_host_api out{};
    out.struct_size = sizeof out;
    out.abi_minor = TITAN_ABI_MINOR;
    return out;
  }();
  return host;
}

plugin::Inspection inspect_for_loading(const std::string& file,
                                       const plugin::HostFacts& host) {
  plugin::Inspection inspection = plugin::inspect_plugin_file(
      std::filesystem::absolute(file).lexically_normal(),
      host,
      plugin::Trust::kIgnored);
  add_trust(inspection);
  return inspection;
}

void probe_entry(plugin::Inspection& inspection) {
  const plugin::PluginBytes file =
      plugin::read_plugin(inspection.path, plugin::Trust::kRequired);
  const plugin::ProbeTarget target{
      &inspection, plugin::stage_plugin(file, inspection.sha256, "")};
  if (const auto bad = plugin::probe_plugins({&target, 1}, silent_host())[0])
    inspection.diagnostics.push_back(*bad);
}

}  // namespace titan::cli
