// SPDX-License-Identifier: BSD-3-Clause
// Which Titan this is. The values are filled in by CMake (version.cpp.in), in
// one small file, so that a commit recompiles nothing else.
#pragma once

#include <string_view>

namespace titan {

/// Returns the release, as in "0.1.0".
std::string_view version();

/// Returns the commit it was configured from, or "unknown" outside git.
std::string_view git_commit();

/// Returns the compiler, as in "GNU 12.2.0".
std::string_view compiler();

}  // namespace titan
