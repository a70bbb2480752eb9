// SPDX-License-Identifier: BSD-3-Clause
// Maps a staged plugin and finds its entry: the one place that uses Boost.DLL.
#pragma once

#include <string>

#include <titan/abi.h>

#include "core/plugin/stage.h"

namespace titan::plugin {

/// Maps the file with RTLD_NOW | RTLD_LOCAL and returns its entry. The library
/// is never unmapped: objects, thread-locals and exit functions of a plugin may
/// live as long as the process, and an unmapped library whose destructor runs
/// at exit is a crash. Throws UserError: DLOPEN with the loader's own text,
/// NO_ENTRY, STALE_IMAGE if the entry is not of this file (`build_id`, empty =
/// unknown). `file` is the name in messages.
titan_plugin_entry_fn open_library(const StagedFile& staged,
                                   const std::string& build_id,
                                   const std::string& file);

}  // namespace titan::plugin
