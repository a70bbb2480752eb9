// SPDX-License-Identifier: BSD-3-Clause
// Asks the library and the dynamic loader, not the build.
#include "core/cli/libtorch_facts.h"

#include <cstdint>

#include <link.h>  // dl_iterate_phdr
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/headeronly/version.h>

#include <titan/text.h>

namespace titan::cli {
namespace {

struct Search {
  std::string_view prefix;
  std::string found;
};

int visit_library(dl_phdr_info* info, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  const std::string_view path = info->dlpi_name;
  const size_t slash = path.rfind('/');
  const auto file =
      slash == std::string_view::npos ? path : path.substr(slash + 1);
  if (!file.starts_with(search.prefix)) return 0;
  search.found = path;
  return 1;  // stops the walk
}

}  // namespace

std::string libtorch_version() {
  // One byte each from the top: major, minor, patch.
  const uint64_t packed = aoti_torch_abi_version();
  const auto byte = [packed](int index) {
    return (packed >> (56 - 8 * index)) & 0xff;
  };
  return text(byte(0), '.', byte(1), '.', byte(2));
}

std::string libtorch_built_version() {
  return text(
      TORCH_VERSION_MAJOR, '.', TORCH_VERSION_MINOR, '.', TORCH_VERSION_PATCH);
}

std::string loaded_library_path(std::string_view prefix) {
  Search search{prefix, {}};
  dl_iterate_phdr(visit_library, &search);
  return search.found;
}

}  // namespace titan::cli
