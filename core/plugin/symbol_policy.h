// SPDX-License-Identifier: BSD-3-Clause
// What a plugin may link: the C and C++ runtimes, OpenMP, LibTorch's stable C
// shim, and the libraries that it declares. Never LibTorch's C++, never the
// core (checked also over built plugins by scripts/check_symbols).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/plugin/elf.h"

namespace titan::plugin {

/// Libraries every plugin may need without saying so.
bool is_runtime_library(std::string_view soname);

/// The two libraries that carry the shim.
bool is_torch_library(std::string_view soname);

enum class SymbolClass {
  kRuntime,    ///< versioned by a runtime library, or weak
  kShim,       ///< aoti_torch_*, torch_*
  kRegisters,  ///< shim functions that register global ops: refused
  kUnstable,   ///< C++ of LibTorch or of the core: refused
  kDeclared,   ///< may come from a library in `needs`
  kUnknown,    ///< nothing that it names defines it
};

SymbolClass classify_symbol(const ElfSymbol& symbol,
                            const std::vector<std::string>& needs);

}  // namespace titan::plugin
