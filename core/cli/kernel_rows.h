// SPDX-License-Identifier: BSD-3-Clause
// Every kernel that a search finds, from the notes of the plugins: what it is
// for, and whether this machine can run it. Runs no plugin's code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/plugin/registry.h"

namespace titan::cli {

struct KernelRow {
  std::string op;
  std::string id;
  std::string plugin;  // name; "titan" for references
  std::string path;    // of its file; empty for references
  std::string found_by;
  std::string target;  // "cpu avx2 fma", "cuda sm_90"
  std::vector<std::string> dtypes;
  std::vector<std::string> flags;
  int32_t priority = 0;
  std::string reason;  // why it cannot run here; empty: it can
};

/// Of what `registry` has scanned, with the references, ordered by op, then
/// priority, references last. `op_id` empty = all ops.
std::vector<KernelRow> known_kernels(const plugin::PluginRegistry& registry,
                                     const std::string& op_id);

}  // namespace titan::cli
