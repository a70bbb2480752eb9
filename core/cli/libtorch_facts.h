// SPDX-License-Identifier: BSD-3-Clause
// Which LibTorch this process runs on: the one that was loaded, which need not
// be the one that was built against.
#pragma once

#include <string>
#include <string_view>

namespace titan::cli {

/// The version that the loaded library reports, "2.11.0".
std::string libtorch_version();

/// The version of the headers this program was built with.
std::string libtorch_built_version();

/// The file of the loaded shared library whose name begins with `prefix`
/// ("libtorch_cpu.so"); "" if none is loaded.
std::string loaded_library_path(std::string_view prefix);

}  // namespace titan::cli
