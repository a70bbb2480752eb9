// SPDX-License-Identifier: BSD-3-Clause
// A static reader of ELF64 shared libraries: what a plugin is and needs,
// without running or mapping any of it. The bytes are untrusted: every offset
// is checked, every count limited, nothing recurses. It reads segments, as the
// system's loader does, so section headers cannot tell it another story.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace titan::plugin {

struct ElfSymbol {
  std::string name;
  std::string version;       ///< "GLIBC_2.34", empty if unversioned
  std::string version_file;  ///< undefined ones: the library asked for it
  bool is_weak = false;
};

struct ElfVersionNeed {
  std::string file;     ///< "libc.so.6"
  std::string version;  ///< "GLIBC_2.34"
};

/// A note whose owner is "TITAN".
struct ElfNote {
  std::uint32_t type = 0;
  std::string content;
};

struct ElfFile {
  std::string build_id;  ///< hexadecimal, empty if none
  std::string soname;
  std::vector<ElfNote> titan_notes;
  std::vector<std::string> needed;
  std::vector<std::string> run_paths;  ///< RPATH and RUNPATH, split at colons
  std::vector<ElfVersionNeed> version_needs;
  std::vector<ElfSymbol> undefined;
  std::vector<ElfSymbol> exported;
  std::uint64_t thread_local_bytes = 0;
  bool has_text_relocations = false;
  bool has_executable_stack = false;
  bool has_unique_symbols = false;  ///< STB_GNU_UNIQUE: never unmapped
  bool is_no_delete = false;        ///< DF_1_NODELETE
};

/// Parses a shared library of this machine. Throws UserError with code NOT_ELF
/// (what is broken and where) or WRONG_ARCH; `file` is named in the text.
ElfFile parse_elf(std::span<const std::byte> bytes, std::string_view file);

}  // namespace titan::plugin
