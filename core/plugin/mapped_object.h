// SPDX-License-Identifier: BSD-3-Clause
// Facts of libraries that the system's loader has already mapped and checked,
// so nothing is tested for bounds here (elf.h reads untrusted files).
#pragma once

#include <string>

#include <link.h>

namespace titan::plugin {

/// The GNU build id in hexadecimal, empty if the object has none.
std::string mapped_build_id(const dl_phdr_info& object);

}  // namespace titan::plugin
