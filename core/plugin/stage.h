// SPDX-License-Identifier: BSD-3-Clause
// Puts the very bytes that were hashed and judged where the system's loader can
// map them: opening the path again would be a race, and loading a replaced file
// by the same path returns the old code (measured, glibc 2.36).
#pragma once

#include <string>

#include "core/plugin/trust.h"

namespace titan::plugin {

/// A file that nobody can change any more. It stays for the life of the
/// process, as the library mapped from it does: glibc de-duplicates by name, so
/// a descriptor's number must not be used twice.
struct StagedFile {
  std::string path;
};

/// Stages in a sealed memory file, or, where `folder` is not empty, as
/// `folder/<sha256>.<generation>.so` (for debuggers, which want a name). Throws
/// UserError DLOPEN if the system refuses.
StagedFile stage_plugin(const PluginBytes& file,
                        const std::string& sha256,
                        const std::string& folder);

}  // namespace titan::plugin
