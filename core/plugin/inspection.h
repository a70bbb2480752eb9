// SPDX-License-Identifier: BSD-3-Clause
// Judges a plugin by its bytes alone: format, hardening, versions, symbols,
// targets. Runs none of its code. Everything that is wrong is reported at once,
// since a person who must rebuild wants the whole list.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/plugin/elf.h"
#include "core/plugin/error_code.h"
#include "core/plugin/host_facts.h"
#include "core/plugin/manifest.h"
#include "core/plugin/trust.h"

namespace titan::plugin {

struct Diagnostic {
  Code code;
  std::string text;  ///< whole message, as it would be thrown
};

struct Inspection {
  std::string path;
  std::string real_path;
  std::string sha256;
  std::uint64_t size_bytes = 0;
  std::optional<ElfFile> elf;
  std::optional<Manifest> manifest;
  std::vector<Diagnostic> diagnostics;  ///< empty = usable here

  bool is_usable() const { return diagnostics.empty(); }
  /// Sound, but for hardware or kinds that this host does not have.
  bool is_skipped() const;
  /// All diagnostics, one per line.
  std::string problem_text() const;
};

Inspection inspect_plugin(const PluginBytes& file, const HostFacts& host);

/// Reads and judges; a file that cannot be read becomes a diagnostic too.
Inspection inspect_plugin_file(const std::string& path,
                               const HostFacts& host,
                               Trust trust);

/// Why `component` cannot run on `host` (kind, device, CPU); nothing if it can.
std::optional<Diagnostic> refuse_component(const ManifestComponent& component,
                                           const HostFacts& host,
                                           std::string_view file);

/// Why nobody should expect to unmap this library; empty if nothing is seen.
std::vector<std::string> resident_reasons(const ElfFile& elf);

}  // namespace titan::plugin
