// SPDX-License-Identifier: BSD-3-Clause
#include "core/plugin/mapped_object.h"

#include <cstdint>
#include <string_view>

#include <elf.h>

namespace titan::plugin {

std::string mapped_build_id(const dl_phdr_info& object) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const auto& segment = object.dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto* at =
        reinterpret_cast<const char*>(object.dlpi_addr + segment.p_vaddr);
    const char* end = at + segment.p_memsz;
    const std::uint64_t align = segment.p_align == 8 ? 8 : 4;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(at);
      const char* content =
          at + sizeof(*note) + (note->n_namesz + align - 1) / align * align;
      const std::string_view owner(at + sizeof(*note), note->n_namesz);
      if (note->n_type == NT_GNU_BUILD_ID && owner.starts_with("GNU")) {
        for (std::uint32_t k = 0; k < note->n_descsz; ++k) {
          const auto byte = static_cast<unsigned char>(content[k]);
          out.push_back(kDigits[byte >> 4]);
          out.push_back(kDigits[byte & 15]);
        }
        return out;
      }
      at = content + (note->n_descsz + align - 1) / align * align;
    }
  }
  return out;
}

}  // namespace titan::plugin
