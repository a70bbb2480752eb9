// SPDX-License-Identifier: BSD-3-Clause
// What a plugin says of itself in its ELF note, as a struct. Grammar:
// docs/plugins.md. The text is untrusted: depth and sizes are limited, unknown
// keys are ignored (a newer SDK may write them), wrong types are errors.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace titan::plugin {

/// Versions of LibTorch, packed as titan_host_api.torch_version; 0 = none.
using TorchVersion = std::uint64_t;

/// Of one plugin, in its note and in its table.
inline constexpr std::uint64_t kMaxComponents = 4096;

/// "2.11.0", or "none".
std::string torch_version_text(TorchVersion version);

/// Name i stands for bit i of KernelMatch.cpu_features (TITAN_CPU_...).
std::span<const std::string_view> cpu_feature_names();

struct KernelMatch {
  std::string op;  ///< "titan.rms_norm/1"
  std::int32_t device = 0;
  std::uint32_t arch_min = 0;
  std::uint32_t arch_max = 0;
  std::uint64_t cpu_features = 0;
  std::uint64_t dtype_mask = 0;
  std::int32_t priority = 0;
  std::uint32_t flags = 0;

  bool operator==(const KernelMatch&) const = default;
};

struct ManifestComponent {
  std::string kind;  ///< "titan.kernel/1"
  std::string id;
  std::string summary;
  std::string config_schema;  ///< canonical JSON; empty = no options
  std::optional<KernelMatch> kernel;
};

struct Manifest {
  std::string name;
  std::string version;
  std::string vendor;
  std::string licence;
  std::uint32_t abi_major = 0;
  std::uint32_t abi_minor_built = 0;
  std::uint32_t abi_minor_min = 0;
  TorchVersion torch_target = 0;
  std::vector<std::string> needs;
  std::string compiler;
  std::optional<int> cxx11_abi;  ///< absent: no libstdc++ used
  std::vector<ManifestComponent> components;
};

/// Parses the note's JSON. Throws UserError BAD_MANIFEST with the path of the
/// offending key; `file` is named in the text.
Manifest parse_manifest(std::string_view json, std::string_view file);

/// Rewrites a JSON text with sorted keys and without spaces, so that equal
/// values have equal texts. Nothing if it is no JSON.
std::optional<std::string> canonical_json(std::string_view json);

}  // namespace titan::plugin
