// SPDX-License-Identifier: BSD-3-Clause
// Layouts are those of <elf.h>; read through memcpy, since an untrusted offset
// need not be aligned.
#include "core/plugin/elf.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include <elf.h>

#include <titan/error.h>

#include "core/plugin/error_code.h"

namespace titan::plugin {
namespace {

// Far above any real library, far below what would hurt.
constexpr std::uint64_t kMaxSegments = 512;
constexpr std::uint64_t kMaxDynamic = 4096;
constexpr std::uint64_t kMaxSymbols = 1u << 20;
constexpr std::uint64_t kMaxNotes = 1024;
constexpr std::uint64_t kMaxNoteBytes = 16u << 20;
constexpr std::uint64_t kMaxString = 1u << 16;
constexpr std::uint64_t kMaxVersions = 4096;

#if defined(__x86_64__)
constexpr std::uint16_t kHostMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr std::uint16_t kHostMachine = EM_AARCH64;
#endif

std::string machine_name(std::uint16_t machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86_64";
    case EM_AARCH64:
      return "aarch64";
    case EM_386:
      return "i386";
    case EM_ARM:
      return "arm";
    case EM_RISCV:
      return "riscv";
    case EM_PPC64:
      return "ppc64";
    default:
      return text("machine ", machine);
  }
}

class Parser {
 public:
  Parser(std::span<const std::byte> bytes, std::string_view file)
      : bytes_(bytes), file_(file) {}

  ElfFile parse() {
    read_header();
    read_segments();
    read_dynamic();
    read_symbols();
    return std::move(elf_);
  }

 private:
  [[noreturn]] void reject(std::string_view what) const {
    throw_code(Code::kNotElf,
               file_,
               text(what,
                    ": expected a complete ELF shared library, got ",
                    bytes_.size(),
                    " bytes that are none (",
                    file_,
                    "). ",
                    code_info(Code::kNotElf).hint));
  }

  template <typename T>
  T read(std::uint64_t offset, std::string_view what) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T))
      reject(text(what, " reaches beyond the end of the file"));
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }

  void read_header() {
    if (bytes_.size() < EI_NIDENT ||
        std::memcmp(bytes_.data(), ELFMAG, SELFMAG) != 0)
      reject("not an ELF file");
    const auto ident = [this](int i) { return static_cast<int>(bytes_[i]); };
    if (ident(EI_CLASS) != ELFCLASS64 || ident(EI_DATA) != ELFDATA2LSB)
      reject_machine(ident(EI_CLASS) == ELFCLASS32 ? "32-bit" : "big-endian");
    header_ = read<Elf64_Ehdr>(0, "the header");
    if (header_.e_machine != kHostMachine)
      reject_machine(machine_name(header_.e_machine));
    if (header_.e_type != ET_DYN) reject("not a shared library");
    // Nothing here reads section headers, but they end the file: a cut shows.
    const std::uint64_t sections_size =
        std::uint64_t{header_.e_shnum} * header_.e_shentsize;
    if (header_.e_shoff > bytes_.size() ||
        sections_size > bytes_.size() - header_.e_shoff)
      reject("the file is truncated: its section headers are missing");
  }

  [[noreturn]] void reject_machine(std::string_view got) const {
    throw_code(Code::kWrongArch,
               file_,
               text("built for another machine: expected 64-bit ",
                    machine_name(kHostMachine),
                    ", got ",
                    got,
                    ". ",
                    code_info(Code::kWrongArch).hint));
  }

  void read_segments() {
    if (header_.e_phentsize != sizeof(Elf64_Phdr) || header_.e_phnum == 0 ||
        header_.e_phnum > kMaxSegments)
      reject("the program header table is broken");
    bool has_stack_header = false;
    for (std::uint64_t i = 0; i < header_.e_phnum; ++i) {
      // Both terms are bounded: a 64-bit offset near the top wraps only if the
      // first read already failed.
      const std::uint64_t offset = header_.e_phoff + i * sizeof(Elf64_Phdr);
      const auto segment = read<Elf64_Phdr>(offset, "a program header");
      if (segment.p_type == PT_GNU_STACK) {
        has_stack_header = true;
        elf_.has_executable_stack = (segment.p_flags & PF_X) != 0;
      }
      if (segment.p_type == PT_TLS) elf_.thread_local_bytes = segment.p_memsz;
      if (segment.p_type == PT_DYNAMIC) dynamic_ = segment;
      if (segment.p_type == PT_LOAD) add_load(segment);
      if (segment.p_type == PT_NOTE) read_notes(segment);
    }
    // Without the header the kernel assumes an executable stack.
    if (!has_stack_header) elf_.has_executable_stack = true;
  }

  void add_load(const Elf64_Phdr& segment) {
    if (segment.p_offset > bytes_.size() ||
        segment.p_filesz > bytes_.size() - segment.p_offset)
      reject("the file is truncated: a segment reaches beyond its end");
    loads_.push_back(segment);
  }

  void read_notes(const Elf64_Phdr& segment) {
    if (segment.p_offset > bytes_.size() ||
        segment.p_filesz > bytes_.size() - segment.p_offset)
      reject("a note segment reaches beyond the end of the file");
    const std::uint64_t align = segment.p_align == 8 ? 8 : 4;
    const auto round_up = [align](std::uint64_t n) {
      return (n + align - 1) / align * align;
    };
    std::uint64_t at = segment.p_offset;
    const std::uint64_t end = at + segment.p_filesz;
    for (std::uint64_t i = 0; i < kMaxNotes; ++i) {
      if (end - at < sizeof(Elf64_Nhdr)) return;
      const auto note = read<Elf64_Nhdr>(at, "a note");
      at += sizeof(Elf64_Nhdr);
      if (note.n_namesz > kMaxString || note.n_descsz > kMaxNoteBytes ||
          note.n_namesz > end - at)
        reject("a note is larger than its segment");
      const std::uint64_t content = at + round_up(note.n_namesz);
      if (content > end || note.n_descsz > end - content)
        reject("a note is larger than its segment");
      add_note(note, at, content);
      at = std::min(end, content + round_up(note.n_descsz));
    }
  }

  void add_note(const Elf64_Nhdr& note,
                std::uint64_t name_at,
                std::uint64_t content_at) {
    const auto* data = reinterpret_cast<const char*>(bytes_.data());
    std::string_view owner(data + name_at, note.n_namesz);
    while (!owner.empty() && owner.back() == '\0') owner.remove_suffix(1);
    const std::string_view content(data + content_at, note.n_descsz);
    if (owner == "TITAN")
      elf_.titan_notes.push_back({note.n_type, std::string(content)});
    if (owner == "GNU" && note.n_type == NT_GNU_BUILD_ID) {
      constexpr char kDigits[] = "0123456789abcdef";
      elf_.build_id.clear();
      for (const char c : content.substr(0, 64)) {
        elf_.build_id.push_back(kDigits[static_cast<unsigned char>(c) >> 4]);
        elf_.build_id.push_back(kDigits[static_cast<unsigned char>(c) & 15]);
      }
    }
  }

  /// File offset of a virtual address, within the file part of a segment.
  std::uint64_t offset_of(std::uint64_t address, std::string_view what) const {
    for (const Elf64_Phdr& load : loads_)
      if (address >= load.p_vaddr && address - load.p_vaddr < load.p_filesz)
        return load.p_offset + (address - load.p_vaddr);
    reject(text(what, " lies in no segment of the file"));
  }

  std::string string_at(std::uint64_t index) const {
    if (!strings_ || index >= strings_size_)
      reject("a name lies outside of the string table");
    const auto* begin =
        reinterpret_cast<const char*>(bytes_.data()) + *strings_ + index;
    const std::uint64_t limit = std::min(strings_size_ - index, kMaxString);
    const void* end = std::memchr(begin, 0, limit);
    if (end == nullptr) reject("a name has no end");
    return {begin, static_cast<const char*>(end)};
  }

  void read_dynamic() {
    if (dynamic_.p_type != PT_DYNAMIC) reject("there is no dynamic section");
    for (std::uint64_t i = 0;; ++i) {
      if (i == kMaxDynamic) reject("the dynamic section has no end");
      if ((i + 1) * sizeof(Elf64_Dyn) > dynamic_.p_filesz) break;
      const auto entry = read<Elf64_Dyn>(
          dynamic_.p_offset + i * sizeof(Elf64_Dyn), "the dynamic section");
      if (entry.d_tag == DT_NULL) break;
      if (entry.d_tag == DT_NEEDED || entry.d_tag == DT_RPATH ||
          entry.d_tag == DT_RUNPATH || entry.d_tag == DT_SONAME)
        named_.emplace_back(entry.d_tag, entry.d_un.d_val);
      else
        tags_[entry.d_tag] = entry.d_un.d_val;
    }
    read_flags();
    if (!tags_.contains(DT_STRTAB)) reject("there is no string table");
    strings_size_ = tags_.contains(DT_STRSZ) ? tags_[DT_STRSZ] : 0;
    const std::uint64_t strings =
        offset_of(tags_[DT_STRTAB], "the string table");
    if (strings_size_ > bytes_.size() - strings)
      reject("the string table reaches beyond the end of the file");
    strings_ = strings;
    for (const auto& [tag, index] : named_) add_named(tag, string_at(index));
  }

  void read_flags() {
    const auto flags = [this](Elf64_Sxword tag) {
      return tags_.contains(tag) ? tags_[tag] : 0;
    };
    elf_.has_text_relocations =
        tags_.contains(DT_TEXTREL) || (flags(DT_FLAGS) & DF_TEXTREL) != 0;
    elf_.is_no_delete = (flags(DT_FLAGS_1) & DF_1_NODELETE) != 0;
  }

  void add_named(Elf64_Sxword tag, std::string name) {
    if (tag == DT_NEEDED) {
      elf_.needed.push_back(std::move(name));
    } else if (tag == DT_SONAME) {
      elf_.soname = std::move(name);
    } else {
      for (std::size_t at = 0; at <= name.size();) {
        const std::size_t end = std::min(name.find(':', at), name.size());
        elf_.run_paths.push_back(name.substr(at, end - at));
        at = end + 1;
      }
    }
  }

  /// Index in the version table -> the need it stands for.
  std::map<std::uint16_t, ElfVersionNeed> read_version_needs() {
    std::map<std::uint16_t, ElfVersionNeed> by_index;
    if (!tags_.contains(DT_VERNEED)) return by_index;
    std::uint64_t at = offset_of(tags_[DT_VERNEED], "the version needs");
    std::uint64_t num_read = 0;
    for (std::uint64_t i = 0; i < tags_[DT_VERNEEDNUM]; ++i) {
      const auto need = read<Elf64_Verneed>(at, "a version need");
      const std::string file = string_at(need.vn_file);
      std::uint64_t aux_at = at + need.vn_aux;
      for (std::uint64_t j = 0; j < need.vn_cnt; ++j) {
        if (++num_read > kMaxVersions) reject("too many version needs");
        const auto aux = read<Elf64_Vernaux>(aux_at, "a version need");
        elf_.version_needs.push_back({file, string_at(aux.vna_name)});
        by_index[aux.vna_other & 0x7fff] = elf_.version_needs.back();
        if (aux.vna_next == 0) break;
        aux_at += aux.vna_next;
      }
      if (++num_read > kMaxVersions) reject("too many version needs");
      if (need.vn_next == 0) break;
      at += need.vn_next;
    }
    return by_index;
  }

  std::uint64_t count_symbols() {
    std::uint64_t count = 0;
    if (tags_.contains(DT_HASH))
      count = read<std::uint32_t>(
          offset_of(tags_[DT_HASH], "the symbol hash") + 4, "the symbol hash");
    if (tags_.contains(DT_GNU_HASH))
      count = std::max(count, count_by_gnu_hash());
    if (count > kMaxSymbols) reject("too many symbols");
    return count;
  }

  /// The table does not say how many symbols there are: find the last chain's
  /// end. Layout: nbuckets, first symbol, bloom words, shift, bloom, buckets,
  /// chains.
  std::uint64_t count_by_gnu_hash() {
    constexpr std::string_view kWhat = "the GNU symbol hash";
    const std::uint64_t at = offset_of(tags_[DT_GNU_HASH], kWhat);
    const auto num_buckets = read<std::uint32_t>(at, kWhat);
    const auto first = read<std::uint32_t>(at + 4, kWhat);
    const auto bloom_words = read<std::uint32_t>(at + 8, kWhat);
    const std::uint64_t buckets = at + 16 + std::uint64_t{8} * bloom_words;
    if (num_buckets > kMaxSymbols || first > kMaxSymbols)
      reject("too many symbols");
    std::uint64_t last = 0;
    for (std::uint64_t i = 0; i < num_buckets; ++i)
      last = std::max<std::uint64_t>(
          last, read<std::uint32_t>(buckets + 4 * i, kWhat));
    if (last < first) return first;
    const std::uint64_t chains = buckets + std::uint64_t{4} * num_buckets;
    while ((read<std::uint32_t>(chains + 4 * (last - first), kWhat) & 1) == 0)
      if (++last > kMaxSymbols) reject("too many symbols");
    return last + 1;
  }

  void read_symbols() {
    const auto versions = read_version_needs();
    if (!tags_.contains(DT_SYMTAB)) reject("there is no symbol table");
    const std::uint64_t table = offset_of(tags_[DT_SYMTAB], "the symbol table");
    std::optional<std::uint64_t> indexes;
    if (tags_.contains(DT_VERSYM))
      indexes = offset_of(tags_[DT_VERSYM], "the symbols' versions");
    const std::uint64_t count = count_symbols();
    for (std::uint64_t i = 1; i < count; ++i) {
      const auto symbol =
          read<Elf64_Sym>(table + i * sizeof(Elf64_Sym), "a symbol");
      const int binding = ELF64_ST_BIND(symbol.st_info);
      if (symbol.st_name == 0 || binding == STB_LOCAL) continue;
      ElfSymbol out{string_at(symbol.st_name), "", "", binding == STB_WEAK};
      if (indexes) {
        const auto index =
            read<std::uint16_t>(*indexes + 2 * i, "the symbols' versions");
        const auto need = versions.find(index & 0x7fff);
        if (need != versions.end()) {
          out.version = need->second.version;
          out.version_file = need->second.file;
        }
      }
      if (binding == STB_GNU_UNIQUE) elf_.has_unique_symbols = true;
      (symbol.st_shndx == SHN_UNDEF ? elf_.undefined : elf_.exported)
          .push_back(std::move(out));
    }
  }

  std::span<const std::byte> bytes_;
  std::string_view file_;
  Elf64_Ehdr header_{};
  Elf64_Phdr dynamic_{};
  std::vector<Elf64_Phdr> loads_;
  std::map<Elf64_Sxword, std::uint64_t> tags_;
  std::vector<std::pair<Elf64_Sxword, std::uint64_t>> named_;
  std::optional<std::uint64_t> strings_;
  std::uint64_t strings_size_ = 0;
  ElfFile elf_;
};

}  // namespace

ElfFile parse_elf(std::span<const std::byte> bytes, std::string_view file) {
  return Parser(bytes, file).parse();
}

}  // namespace titan::plugin
