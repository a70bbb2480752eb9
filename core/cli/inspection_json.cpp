// SPDX-License-Identifier: BSD-3-Clause
#include "core/cli/inspection_json.h"

#include <cstring>
#include <string_view>

#include <nlohmann/json.hpp>

#include <titan/text.h>

#include "core/plugin/symbol_policy.h"

namespace titan::cli {
namespace {

namespace plug = titan::plugin;
using OrderedJson = nlohmann::ordered_json;

/// The greatest version of a family that is asked for: "2.34" for GLIBC_.
std::string newest_need(const plug::ElfFile& elf, std::string_view prefix) {
  std::string out;
  for (const plug::ElfVersionNeed& need : elf.version_needs) {
    if (!need.version.starts_with(prefix)) continue;
    const std::string version = need.version.substr(prefix.size());
    if (::strverscmp(out.c_str(), version.c_str()) < 0) out = version;
  }
  return out;
}

OrderedJson kernel_json(const plug::KernelMatch& kernel) {
  OrderedJson features = OrderedJson::array();
  const auto names = plug::cpu_feature_names();
  for (std::size_t i = 0; i < names.size(); ++i)
    if (kernel.cpu_features >> i & 1) features.push_back(names[i]);
  const OrderedJson target =
      kernel.device == 0
          ? OrderedJson{{"device", "cpu"}, {"features", std::move(features)}}
          : OrderedJson{{"device", "cuda"},
                        {"sm", {kernel.arch_min, kernel.arch_max}}};
  return {{"op", kernel.op},
          {"targets", OrderedJson::array({target})},
          {"dtype_mask", kernel.dtype_mask},
          {"priority", kernel.priority},
          {"flags", kernel.flags}};
}

OrderedJson component_json(const plug::ManifestComponent& component,
                           const plug::HostFacts& host,
                           const std::string& file) {
  OrderedJson out = {{"kind", component.kind},
                     {"id", component.id},
                     {"summary", component.summary}};
  if (component.kernel) out.update(kernel_json(*component.kernel));
  out["config_schema"] = component.config_schema.empty()
                             ? OrderedJson::object()
                             : OrderedJson::parse(component.config_schema);
  const auto refusal = plug::refuse_component(component, host, file);
  out["usable"] = !refusal.has_value();
  if (refusal) out["why_not"] = refusal->text;
  return out;
}

void add_manifest(OrderedJson& out,
                  const plug::Inspection& inspection,
                  const plug::HostFacts& host) {
  const plug::Manifest& note = *inspection.manifest;
  out["name"] = note.name;
  out["version"] = note.version;
  out["vendor"] = note.vendor;
  out["licence"] = note.licence;
  out["abi"] = {{"major", note.abi_major},
                {"minor_built", note.abi_minor_built},
                {"minor_min", note.abi_minor_min},
                {"host", text(host.abi_major, '.', host.abi_minor)},
                {"usable",
                 note.abi_major == host.abi_major &&
                     note.abi_minor_min <= host.abi_minor}};
  out["built"] = {{"compiler", note.compiler}, {"cxx11_abi", nullptr}};
  if (note.cxx11_abi) out["built"]["cxx11_abi"] = *note.cxx11_abi;
  out["needs"] = note.needs;
  out["components"] = OrderedJson::array();
  for (const plug::ManifestComponent& component : note.components)
    out["components"].push_back(
        component_json(component, host, inspection.path));
}

void add_elf(OrderedJson& out,
             const plug::Inspection& inspection,
             const plug::HostFacts& host) {
  const plug::ElfFile& elf = *inspection.elf;
  static const std::vector<std::string> kNoNeeds;
  int num_shim = 0;
  OrderedJson unstable = OrderedJson::array();
  for (const plug::ElfSymbol& symbol : elf.undefined) {
    const auto kind = plug::classify_symbol(symbol, kNoNeeds);
    num_shim += kind == plug::SymbolClass::kShim;
    if (kind == plug::SymbolClass::kUnstable) unstable.push_back(symbol.name);
  }
  const auto target = inspection.manifest ? inspection.manifest->torch_target
                                          : plug::TorchVersion{0};
  out["build_id"] = elf.build_id;
  out["torch"] = {{"target", plug::torch_version_text(target)},
                  {"host", plug::torch_version_text(host.torch_version)},
                  {"shim_symbols", num_shim},
                  {"unstable_symbols", std::move(unstable)}};
  out["system"] = {{"glibc", newest_need(elf, "GLIBC_")},
                   {"glibcxx", newest_need(elf, "GLIBCXX_")},
                   {"cxxabi", newest_need(elf, "CXXABI_")},
                   {"needed", elf.needed},
                   {"run_paths", elf.run_paths},
                   {"thread_local_bytes", elf.thread_local_bytes}};
  out["unload"] = {{"class", "resident"},
                   {"reasons", plug::resident_reasons(elf)}};
}

}  // namespace

std::string inspection_json(const plug::Inspection& inspection,
                            const plug::HostFacts& host,
                            const std::string& mode) {
  OrderedJson out = {{"file", inspection.path},
                     {"real_path", inspection.real_path},
                     {"sha256", inspection.sha256},
                     {"size", inspection.size_bytes},
                     {"mode", mode}};
  if (inspection.manifest) add_manifest(out, inspection, host);
  if (inspection.elf) add_elf(out, inspection, host);
  out["verdict"] = inspection.is_usable()    ? "ok"
                   : inspection.is_skipped() ? "skipped"
                                             : "unusable";
  out["diagnostics"] = OrderedJson::array();
  for (const plug::Diagnostic& item : inspection.diagnostics)
    out["diagnostics"].push_back({{"code", static_cast<int>(item.code)},
                                  {"name", plug::code_info(item.code).name},
                                  {"text", item.text}});
  return out.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace titan::cli
