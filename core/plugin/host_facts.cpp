// SPDX-License-Identifier: BSD-3-Clause
// Reads the tables of libraries that the system's loader has already mapped and
// checked, so no bounds are tested here. Versions are compared with what the
// loaded libraries define, not with numbers: the loader does the same.
#include "core/plugin/host_facts.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <titan/abi.h>

#include "core/observe/cpu_features.h"
#include "core/plugin/mapped_object.h"

namespace titan::plugin {
namespace {

struct DynamicTables {
  const char* strings = nullptr;
  const char* version_defs = nullptr;
  std::uint64_t num_version_defs = 0;
  std::uint64_t soname = 0;
  bool has_soname = false;
};

DynamicTables read_tables(const dl_phdr_info& object,
                          const ElfW(Dyn) * dynamic) {
  DynamicTables out;
  // glibc has relocated these pointers, except in objects it may not write.
  const auto pointer = [&object](const ElfW(Dyn) * entry) {
    const auto value = entry->d_un.d_ptr;
    return reinterpret_cast<const char*>(
        value < object.dlpi_addr ? value + object.dlpi_addr : value);
  };
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    if (dynamic->d_tag == DT_STRTAB) out.strings = pointer(dynamic);
    if (dynamic->d_tag == DT_VERDEF) out.version_defs = pointer(dynamic);
    if (dynamic->d_tag == DT_VERDEFNUM)
      out.num_version_defs = dynamic->d_un.d_val;
    if (dynamic->d_tag == DT_SONAME) {
      out.soname = dynamic->d_un.d_val;
      out.has_soname = true;
    }
  }
  return out;
}

int add_versions(dl_phdr_info* object, std::size_t, void* out) {
  auto& versions =
      *static_cast<std::map<std::string, std::set<std::string>>*>(out);
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < object->dlpi_phnum; ++i)
    if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(
          object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
  if (dynamic == nullptr) return 0;
  const DynamicTables tables = read_tables(*object, dynamic);
  if (!tables.has_soname || !tables.strings || !tables.version_defs) return 0;
  auto& names = versions[tables.strings + tables.soname];
  const char* at = tables.version_defs;
  for (std::uint64_t i = 0; i < tables.num_version_defs; ++i) {
    const auto* def = reinterpret_cast<const ElfW(Verdef)*>(at);
    const auto* aux = reinterpret_cast<const ElfW(Verdaux)*>(at + def->vd_aux);
    names.insert(tables.strings + aux->vda_name);
    if (def->vd_next == 0) break;
    at += def->vd_next;
  }
  return 0;
}

/// The executable is the first object of the list.
int read_build_id(dl_phdr_info* object, std::size_t, void* out) {
  *static_cast<std::string*>(out) = mapped_build_id(*object);
  return 1;
}

/// LibTorch packs one byte each from the top.
TorchVersion find_torch_version() {
  void* symbol = ::dlsym(RTLD_DEFAULT, "aoti_torch_abi_version");
  if (symbol == nullptr) return 0;
  const auto packed = reinterpret_cast<std::uint64_t (*)()>(symbol)();
  const auto byte = [packed](int i) { return (packed >> (56 - 8 * i)) & 0xff; };
  return byte(0) << 32 | byte(1) << 16 | byte(2);
}

std::uint64_t cpu_feature_bits() {
  const CpuFeatures cpu = detect_cpu_features();
  std::uint64_t out = 0;
  if (cpu.avx2) out |= TITAN_CPU_AVX2 | TITAN_CPU_FMA;
  if (cpu.avx512f) out |= TITAN_CPU_AVX512F;
  if (cpu.avx512bw) out |= TITAN_CPU_AVX512BW;
  if (cpu.avx512vl) out |= TITAN_CPU_AVX512VL;
  if (cpu.avx512dq) out |= TITAN_CPU_AVX512DQ;
  if (cpu.avx512_bf16) out |= TITAN_CPU_AVX512_BF16;
  if (cpu.amx_bf16 || cpu.amx_int8) out |= TITAN_CPU_AMX_TILE;
  if (cpu.amx_bf16) out |= TITAN_CPU_AMX_BF16;
  if (cpu.amx_int8) out |= TITAN_CPU_AMX_INT8;
  return out;
}

}  // namespace

HostFacts gather_host_facts() {
  HostFacts out;
  out.abi_major = TITAN_ABI_MAJOR;
  out.abi_minor = TITAN_ABI_MINOR;
  out.torch_version = find_torch_version();
  out.cxx11_abi = _GLIBCXX_USE_CXX11_ABI;
  ::dl_iterate_phdr(read_build_id, &out.build_id);
  ::dl_iterate_phdr(add_versions, &out.versions);
  out.has_symbol = [](const std::string& name) {
    return ::dlsym(RTLD_DEFAULT, name.c_str()) != nullptr;
  };
  out.cpu_features = cpu_feature_bits();
  // Which GPU it is takes the driver a second to say; that there is none is
  // plain, and then CUDA plugins are skipped instead of failing to load.
  if (::access("/dev/nvidiactl", F_OK) != 0) out.cuda_archs.emplace();
  return out;
}

}  // namespace titan::plugin
