// SPDX-License-Identifier: BSD-3-Clause
#include "core/plugin/symbol_policy.h"

#include <algorithm>
#include <array>

namespace titan::plugin {
namespace {

constexpr std::array<std::string_view, 12> kRuntime = {"libc.so.6",
                                                       "libm.so.6",
                                                       "libstdc++.so.6",
                                                       "libgcc_s.so.1",
                                                       "libgomp.so.1",
                                                       "libpthread.so.0",
                                                       "libdl.so.2",
                                                       "librt.so.1",
                                                       "ld-linux-x86-64.so.2",
                                                       "ld-linux-aarch64.so.1",
                                                       "libatomic.so.1",
                                                       "libmvec.so.1"};

// Namespaces as they stand in mangled names, at the start or as an argument.
constexpr std::array<std::string_view, 8> kUnstableParts = {"N2at",
                                                            "NK2at",
                                                            "N3c10",
                                                            "NK3c10",
                                                            "N5torch",
                                                            "NK5torch",
                                                            "N5titan",
                                                            "NK5titan"};

bool starts_with_any(std::string_view name,
                     std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [name](auto prefix) {
    return name.starts_with(prefix);
  });
}

bool contains_any(std::string_view name) {
  return std::any_of(
      kUnstableParts.begin(), kUnstableParts.end(), [name](auto part) {
        return name.find(part) != std::string_view::npos;
      });
}

// Sanitizer builds: the sanitizer's runtime stands in for parts of the C and
// C++ ones, and its symbols carry no version: its own calls, the C++ support
// functions, operators new and delete.
bool is_sanitizer_symbol(std::string_view name) {
  return starts_with_any(name,
                         {"__asan_",
                          "__ubsan_",
                          "__tsan_",
                          "__lsan_",
                          "__cxa_",
                          "_Znw",
                          "_Zna",
                          "_Zdl",
                          "_Zda"});
}

}  // namespace

bool is_runtime_library(std::string_view soname) {
  return std::find(kRuntime.begin(), kRuntime.end(), soname) !=
             kRuntime.end() ||
         starts_with_any(soname, {"libasan.so", "libubsan.so", "libtsan.so"});
}

bool is_torch_library(std::string_view soname) {
  return soname == "libtorch_cpu.so" || soname == "libtorch_cuda.so";
}

SymbolClass classify_symbol(const ElfSymbol& symbol,
                            const std::vector<std::string>& needs) {
  const std::string_view name = symbol.name;
  if (name.starts_with("_Z") && contains_any(name))
    return SymbolClass::kUnstable;
  if (is_runtime_library(symbol.version_file) || is_sanitizer_symbol(name))
    return SymbolClass::kRuntime;
  if (starts_with_any(name, {"aoti_torch_library_", "torch_library_"}))
    return SymbolClass::kRegisters;
  if (starts_with_any(name, {"aoti_torch_", "torch_"}))
    return SymbolClass::kShim;
  if (symbol.is_weak) return SymbolClass::kRuntime;
  return needs.empty() ? SymbolClass::kUnknown : SymbolClass::kDeclared;
}

}  // namespace titan::plugin
